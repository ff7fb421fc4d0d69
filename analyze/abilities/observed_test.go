package abilities

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
)

// Values with a row show their total, and a run without an observation has nothing to show.
func TestObserved(t *testing.T) {
	rows := Observed([]observation.Group{{Name: "scratch", Values: []observation.Value{
		{Name: "events", Unit: "events", Definition: "events that arrived", Merging: observation.Sum, Row: "EVENTS", After: "UPKEEP"},
		{Name: "delay", Unit: "ns", Definition: "delays of events", Merging: observation.Times, Row: "DELAY", After: "EVENTS"},
		{Name: "hidden", Unit: "events", Definition: "events without a row", Merging: observation.Sum},
	}}})
	if len(rows) != 2 || rows[0].Unit != "events" || rows[1].Unit != "ms" || rows[1].After != "EVENTS" {
		t.Fatalf("rows %+v, want those of events and of delays in milliseconds", rows)
	}
	record := &results.DatabaseRun{}
	r := &run.Run{Info: run.Info{Record: record}}
	if m, _ := rows[0].Cell(r); m.Known() {
		t.Errorf("a run without an observation has %+v", m)
	}
	if err := ability.Observed().Set(&record.Records, observation.Totals{"scratch": {
		"events": {N: 2, Value: 12}, "delay": {N: 40, Longest: 3 * time.Millisecond, P50: time.Millisecond},
	}}); err != nil {
		t.Fatal(err)
	}
	if m, text := rows[0].Cell(r); m.Value != 12 || text != "12 events" {
		t.Errorf("events are %+v, %q", m, text)
	}
	if m, text := rows[1].Cell(r); m.Value != 3 || m.N != 40 || text != "40, p50 1.0000 ms, longest 3.0000 ms" {
		t.Errorf("delays are %+v, %q", m, text)
	}
	record.Records[ability.Observed().Key] = []byte(`[]`)
	if m, _ := rows[0].Cell(r); m.Known() || m.Missing == "" {
		t.Errorf("a record that cannot be read is %+v, want the reason", m)
	}
}
