package table

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
)

// The numbers for steps are in the rows for the whole load and in their own rows: Tidy has each
// once.
func TestTidyStepsOnce(t *testing.T) {
	runs, err := run.FromFolder(runtest.TwoDatabases(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(runs, (*run.Run).Staged) {
		t.Fatal("the fixture must have a load in steps of different kinds")
	}
	data, err := Tidy(runs)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, r := range records {
		if r[3] != "" && r[5] == "AVG-THROUGHPUT" {
			found[r[2]+" "+r[3]]++
		}
	}
	if len(found) == 0 {
		t.Error("no step has AVG-THROUGHPUT")
	}
	for key, n := range found {
		if n != 1 {
			t.Errorf("AVG-THROUGHPUT of %s is there %d times, want 1", key, n)
		}
	}
}
