package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// classicConfigs is the folder of the classic tool's shipped files, which are not
// part of this repository.
func classicConfigs(t *testing.T) string {
	t.Helper()
	dirs := []string{"../../../shared/classic/configs"}
	if dir := os.Getenv("DBTESTER_CLASSIC_DIR"); dir != "" {
		dirs = []string{filepath.Join(dir, "configs")}
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("the classic files are not here; set DBTESTER_CLASSIC_DIR")
	}
	t.Skip("the classic files are not here; set DBTESTER_CLASSIC_DIR")
	return ""
}

func TestClassicShippedFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(classicConfigs(t), "*.yaml"))
	if err != nil || len(files) != 5 {
		t.Fatalf("got %d files, %v; want 5", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			e, warnings, err := Read(file, testCatalog())
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range warnings {
				if !strings.Contains(w.Text, "gcp-key") {
					t.Errorf("unexpected %s", w)
				}
			}
			if len(warnings) == 0 {
				t.Error("no warning of the missing key file")
			}
			if !e.Classic || len(e.Plots) != 15 || len(e.Inputs) != len(e.Databases) || len(e.Export) != 8 || len(e.Report.Images) != 19 {
				t.Errorf("classic %v, %d plots, %d inputs, %d exports, %d images", e.Classic, len(e.Plots), len(e.Inputs), len(e.Export), len(e.Report.Images))
			}
			for _, d := range e.Databases {
				t.Log(d.ID, d.Tag, d.Version, d.Load.Clients, d.Load.Connections, d.Load.Requests, d.Load.Read, d.Load.Steps)
			}
		})
	}
}

var _ = cmp.Diff
