package analyze

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/process/environment"
)

// The members' environment is named once if they agree.
func TestEnvironmentIsNamed(t *testing.T) {
	t.Parallel()
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	of := f.Database("zookeeper", 2*time.Millisecond)
	for i := range of.Members {
		of.Members[i].Environment = []environment.Facts{{Command: "zookeeper", OpenFiles: 524288, JVM: "17.0.15+6 (Debian)"}}
	}
	d, err := newDocument(t.Context(), Options{Folders: []string{f.Write()}})
	if err != nil {
		t.Fatalf("read the run: %v", err)
	}
	var found []string
	for _, a := range d.accounts() {
		for _, fact := range a.Facts {
			if fact.Name == "environment" {
				found = append(found, fact.Text)
			}
		}
	}
	if want := "zookeeper: JVM 17.0.15+6 (Debian), at most 524,288 open files"; len(found) != 1 || found[0] != want {
		t.Errorf("%q, want %q once for both members", found, want)
	}
}
