package membermetrics

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/membermetrics"
	"github.com/coreos/dbtester/pkg/results"
)

// The row counts the answers by all members; runs whose members control did not ask have no count.
func TestRow(t *testing.T) {
	record := &results.DatabaseRun{Members: make([]results.Member, 2)}
	r := &run.Run{Info: run.Info{Record: record}}
	cell := Half{}.Rows()[0].Cell
	if m, _ := cell(r); m.Known() {
		t.Errorf("a run with agents must have no period, got %+v", m)
	}
	for i, counts := range []membermetrics.Scraped{{Every: 10 * time.Second, Answered: 4, Unanswered: 1}, {Every: 10 * time.Second, Answered: 5}} {
		if err := membermetrics.Record().Set(&record.Members[i].Records, counts); err != nil {
			t.Fatalf("record: %v", err)
		}
	}
	if m, text := cell(r); m.Value != 10 || m.N != 10 || text != "10s (9 of 10 answered)" {
		t.Errorf("want 10 s of 10 requests, got %+v, %q", m, text)
	}
	record.Members[1].Records[membermetrics.Record().Key] = []byte("[]")
	if m, _ := cell(r); m.Known() || m.Missing == "" {
		t.Errorf("a record of another release must be missing, got %+v", m)
	}
}
