package experiment_test

import (
	"maps"
	"testing"

	"github.com/coreos/dbtester/tools/experiment"
)

// A report has the first value in each row, and lacks no row it must have.
func TestReadReport(t *testing.T) {
	got, err := experiment.ReadReport(`{"table":{"rows":[{"name":"OK","cells":[{"value":9}]},{"name":"Latency p50","cells":[{"value":1.5}]},{"name":"Latency p99","cells":[{"value":7}]},{"name":"OK","cells":[{"value":8}]},{"name":"two","cells":[{"value":1},{"value":2}]}]}}`, "Latency p50", "Latency p99")
	if want := (experiment.Report{"OK": 9, "Latency p50": 1.5, "Latency p99": 7}); err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, text := range []string{`{}`, `[]`, `{"table":{"rows":[{"name":"Latency p50","cells":[{}]}]}}`} {
		if _, err := experiment.ReadReport(text, "Latency p50"); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}
