package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// jarFolder is where the jars of a [Maven] release are.
const jarFolder = "lib"

func (m Maven) layout() map[string]string { return map[string]string{m.Tool: jarFolder} }

func (m Maven) describe(version string) string {
	return fmt.Sprintf("maven dependencies of %s:%s", m.Artifact, version)
}

// obtain has Maven copy the runtime dependencies of the pom. Maven checks each
// against its repository's checksum (-C), and then Sums checks them again.
func (m Maven) obtain(ctx context.Context, s *stage) error {
	mvn, err := s.in.tool("mvn")
	if err != nil {
		return err
	}
	if _, err := s.in.tool("java"); err != nil {
		return err
	}
	pom := filepath.Join(s.dir, "pom.xml")
	if err := writeNew(pom, []byte(expand(m.POM, s.id.version))); err != nil {
		return fmt.Errorf("write the pom: %w", err)
	}
	jars := filepath.Join(s.dir, jarFolder)
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
	return m.checkJars(jars)
}

// checkJars compares a directory with Sums: the same files, with the same hashes.
func (m Maven) checkJars(dir string) error {
	sums, err := parseSums(m.Sums)
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
