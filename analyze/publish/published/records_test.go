package published

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/pkg/results"
)

// TestOlderRecords: this program reads a recorded run in every earlier format. A new format needs a
// small folder in the previous one, as written by a release.
func TestOlderRecords(t *testing.T) {
	verdicts := map[int]string{
		1: `zookeeper-3\.9\.5 answered [0-9,]+ writes a second`,
		2: `^With 100 clients etcd answered [0-9,]+ writes a second, 99 % of them within [0-9.]+ ms\.$`,
	}
	for format := 1; format <= results.FormatVersion; format++ {
		t.Run(fmt.Sprintf("format %d", format), func(t *testing.T) {
			dir := filepath.Join("..", "..", "..", "pkg", "results", "testdata", fmt.Sprintf("format%d", format))
			folder, err := results.Open(recorded(t, dir))
			if err != nil {
				t.Fatalf("there must be a run of this format in %s: %v", dir, err)
			}
			if m, err := folder.Manifest(); err != nil || m.Format != format {
				t.Fatalf("%s: %v; its manifest must have format %d", dir, err, format)
			}
			screen, err := analyze.FirstScreen(t.Context(), analyze.Options{Folders: []string{folder.Dir()}})
			if err != nil {
				t.Fatal(err)
			}
			if want := verdicts[format]; want == "" || !regexp.MustCompile(want).MatchString(screen.Verdict) {
				t.Errorf("the verdict is %q, want %q", screen.Verdict, want)
			}
		})
	}
}

// recorded returns a result folder, whose databases may be archives: then it is a copy
// with their contents.
func recorded(t *testing.T, dir string) string {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) == 0 {
		return dir
	}
	all := t.TempDir()
	manifest, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(all, "manifest.json"), manifest, 0o600)
	}
	for _, archive := range archives {
		if err == nil {
			err = os.CopyFS(all, os.DirFS(unpacked(t, archive)))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}
