package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

// copyJars has Maven copy the runtime dependencies in the pom. Maven checks each against the
// checksum in its repository (-C), and then Sums checks them again.
func (s *stage) copyJars(ctx context.Context, m recipe.Maven) error {
	mvn, err := s.in.tool("mvn")
	if err != nil {
		return err
	}
	if _, err := s.in.tool("java"); err != nil {
		return err
	}
	pom := filepath.Join(s.dir, "pom.xml")
	if err := writeNew(pom, []byte(recipe.Expand(m.POM, s.id.version))); err != nil {
		return fmt.Errorf("write the pom: %w", err)
	}
	jars := filepath.Join(s.dir, m.Layout()[m.Tool])
	if err := s.run(ctx, mvn, []string{
		"-B", "-C", "-ntp", "-Dstyle.color=never", "-f", pom, "dependency:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory=" + jars,
	}, nil); err != nil {
		return err
	}
	_, artifact, _ := strings.Cut(m.Artifact, ":")
	if main := artifact + "-" + s.id.version + ".jar"; !exists(filepath.Join(jars, main)) {
		return fmt.Errorf("maven did not copy %s: the recipe's pom is for another release", main)
	}
	s.source = m.Artifact + ":" + s.id.version
	if m.Sums == "" {
		s.notes = []string{"the jars were checked only by the checksums of their repository"}
		return nil
	}
	return checkJars(jars, m.Sums)
}

// checkJars compares a directory with the checksums in the recipe: the same files, with the same
// hashes.
func checkJars(dir, recorded string) error {
	sums, err := parseSums(recorded)
	if err != nil {
		return fmt.Errorf("read the recipe's checksums: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read the jars that maven copied: %w", err)
	}
	var problems []error
	got := map[string]bool{}
	for _, e := range entries {
		got[e.Name()] = true
		want, err := sums.of(e.Name())
		if err != nil {
			problems = append(problems, err)
			continue
		}
		problems = append(problems, want.checkFile(filepath.Join(dir, e.Name())))
	}
	for _, line := range sums {
		if !got[line.name] {
			problems = append(problems, fmt.Errorf("maven did not copy %s", line.name))
		}
	}
	return errors.Join(problems...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
