package analyze

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// The report on a sweep has its curve in text, README and page, also after the samples were
// dropped.
func TestSweep(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Database("etcd", 2*time.Millisecond).Swept = &workload.Swept{Key: workload.SweepClients, Of: "etcd"}
	dir := f.Write()
	report, err := Run(context.Background(), Options{Folders: []string{dir}, Need: &workload.Need{Rate: 5, Latency: time.Second, At: "p99"}})
	if err != nil {
		t.Fatalf("analyze the run: %v", err)
	}
	if !strings.Contains(report.Text(), "By clients: etcd") {
		t.Errorf("the text has no curve:\n%s", report.Text())
	}
	for file, want := range map[string]string{fileReadme: "## By clients", fileHTML: "By clients: etcd", "data/SWEEP-CLIENTS.csv": "etcd, Throughput", fileTable + ".json": `"choice"`} {
		data, err := os.ReadFile(filepath.Join(report.Dir, file))
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %q, %v", file, want, err)
		}
	}
}
