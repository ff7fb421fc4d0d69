package table

import (
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

func TestMergedCells(t *testing.T) {
	known := func(v float64, marks ...string) Cell {
		m := run.Measured(v, 10)
		m.Marks = marks
		return cellOf(m, perSecondText)
	}
	named := func(v float64, text string) Cell { return number(v, 0, "%s", text) }
	part := func(label string, c Cell) Part { return Part{label, c} }
	for _, tt := range []struct {
		name  string
		cells []Cell
		want  []string // lines
	}{
		{"one", []Cell{known(3)}, []string{"3 req/sec"}},
		{"even", []Cell{known(1000), known(3000)}, []string{"2,000 req/sec", "1,000 .. 3,000 req/sec, n 2"}},
		{"odd", []Cell{known(5), known(1), known(2, run.FewMark)}, []string{"2 req/sec *", "1 .. 5 req/sec, n 3"}},
		{"six", []Cell{known(1), known(2), known(3), known(4), known(5), known(6)}, []string{"3.50 req/sec", "1 .. 6 req/sec, 95 %, n 6"}},
		{"the same", []Cell{known(2), known(2)}, []string{"2 req/sec"}},
		{"one lacks it", []Cell{known(1), missing("lost"), known(4)}, []string{"2.50 req/sec", "1 .. 4 req/sec, n 2"}},
		{"all lack it", []Cell{missing("lost"), missing("lost")}, []string{"not measured"}},
		{"other words", []Cell{named(3, "3 (member 1)"), named(4, "4 (member 2)"), named(9, "9 (member 2)")}, []string{"4 (member 2)", "3 (member 1) .. 9 (member 2), n 3"}},
		{"words within parentheses", []Cell{named(3, "3 ok (41.6 %)"), named(4, "4 ok (42.0 %)"), named(9, "9 ok (43.9 %)")}, []string{"4 ok (42.0 %)", "3 ok (41.6 %) .. 9 ok (43.9 %), n 3"}},
		{"a unit before parentheses", []Cell{named(3, "3 % (member 1)"), named(4, "4 % (member 1)")}, []string{"3 % (member 1)", "3 .. 4 % (member 1), n 2"}},
		{"long words", []Cell{named(3, "leader elected 3, peer inactive 6"), named(4, "leader elected 4")}, []string{"leader elected 3, peer inactive 6", "differs, n 2"}},
		{"texts", []Cell{{Text: "yes"}, {Text: "no"}, {Text: "yes"}}, []string{"yes; no"}},
		{"stages", []Cell{{Parts: []Part{part("a", known(1)), part("b", known(7))}}, {Parts: []Part{part("a", known(3)), part("b", known(7))}}},
			[]string{"a: 2 req/sec (1 .. 3 req/sec, n 2)", "b: 7 req/sec"}},
	} {
		if diff := cmp.Diff(tt.want, merged(tt.cells).Lines()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// trialRuns are two trials of one database. The first was half as long as the second and wrote
// half as much.
func trialRuns() []*run.Run {
	var runs []*run.Run
	for n := 1; n <= 2; n++ {
		r := &run.Run{Info: run.Info{
			Tag: "etcd", Manifest: &results.Manifest{RunID: "id" + strconv.Itoa(n), Trial: n, Trials: 2, Config: json.RawMessage(`{}`)},
			Record: &results.DatabaseRun{Tag: "etcd", Leader: -1, Load: results.Load{}},
		}}
		if n > 1 {
			r.Info.Tag = "etcd #2"
		}
		m := run.Measured(float64(n), 10)
		m.Marks = []string{"a footnote"}
		unknown := run.Missing("not recorded")
		latency := run.Unmeasured("none")
		r.Stages = []*run.Stage{{Throughput: run.Throughput{Average: m, Most: run.Measure{Value: 5, Low: 4, High: 6}, Least: unknown}, Latency: run.Latency{Due: latency, OK: latency, Service: latency}}}
		runs = append(runs, r)
	}
	return runs
}

func TestMergedTable(t *testing.T) {
	merged, single := Merged(trialRuns()), New(trialRuns())
	if len(merged.Columns) != 1 || merged.Columns[0].Tag != "etcd" || merged.Columns[0].Trials != 2 || len(single.Columns) != 2 {
		t.Fatalf("columns %+v of %+v", merged.Columns, single.Columns)
	}
	text := merged.Render()
	for _, want := range []string{"1.50 req/sec [1]", "1 .. 2 req/sec, n 2", "Throughput and latency (measured part)", "Requests by their end (whole load)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table has no %q:\n%s", want, text)
		}
	}
	data, err := single.CSV()
	if err != nil || strings.Contains(string(data), "[1]") {
		t.Errorf("the classic file must have no footnotes: %v\n%s", err, data)
	}
}

// Tidy has one number per row, and text only in the last column.
func TestTidy(t *testing.T) {
	data, err := Tidy(trialRuns())
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil {
		t.Fatalf("read it again: %v", err)
	}
	if diff := cmp.Diff(tidyHeader(), records[0]); diff != "" {
		t.Error(diff)
	}
	found := map[string][]string{}
	for _, record := range records[1:] {
		found[record[0]+" "+record[5]] = record
		for _, field := range []int{7, 8, 9, 10} {
			if _, err := strconv.ParseFloat(record[field], 64); record[field] != "" && err != nil {
				t.Errorf("%q has %q where a number belongs", record, record[field])
			}
		}
	}
	for key, want := range map[string][]string{
		"id2 AVG-THROUGHPUT": {"id2", "2", "etcd", "", "", "AVG-THROUGHPUT", "requests/s", "2", "10", "", "", "a footnote"},
		"id1 MAX-THROUGHPUT": {"id1", "1", "etcd", "", "", "MAX-THROUGHPUT", "requests/s", "5", "", "4", "6", ""},
		"id1 MIN-THROUGHPUT": {"id1", "1", "etcd", "", "", "MIN-THROUGHPUT", "requests/s", "", "", "", "", "not measured: not recorded"},
		"id1 RATE":           {"id1", "1", "etcd", "", "", "RATE", "requests/s", "", "", "", "", "closed loop"},
	} {
		if diff := cmp.Diff(want, found[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

// A row that is 0 in every column is folded; one that is not measured somewhere is not.
func TestZeroRows(t *testing.T) {
	zero, one, lost := count(0), count(1), missing("lost")
	none := inapplicable("no such load")
	for _, tt := range []struct {
		cells []Cell
		want  bool
	}{
		{[]Cell{zero, zero}, true},
		{[]Cell{zero, none}, true},
		{[]Cell{none, none}, false},
		{[]Cell{zero, one}, false},
		{[]Cell{zero, lost}, false},
		{[]Cell{{Parts: []Part{{"a", zero}, {"b", zero}}}}, true},
		{[]Cell{{Parts: []Part{{"a", zero}, {"b", one}}}}, false},
		{[]Cell{{Text: "yes"}}, false},
	} {
		if got := (Line{Cells: tt.cells}).zero(); got != tt.want {
			t.Errorf("%+v: folded %v, want %v", tt.cells, got, tt.want)
		}
	}
	table := &Table{Rows: []Line{{Name: "OK", Section: sectionOutcomes, Cells: []Cell{one}}, {Name: "SHED", Section: sectionOutcomes, Cells: []Cell{zero}}}}
	part := table.Sections()[0]
	if len(part.Rows) != 1 || len(part.Zero) != 1 || part.Zero[0].Name != "SHED" {
		t.Errorf("sections are %+v", part)
	}
	if diff := cmp.Diff([]string{"0 in every column, and left out: SHED"}, table.LeftOut()); diff != "" {
		t.Error(diff)
	}
}

// Every row states by its section which part of the run it describes.
func TestEveryRowHasAPopulation(t *testing.T) {
	known := map[string]bool{}
	for _, name := range sections() {
		known[name] = true
	}
	want := map[string]string{
		"TOTAL-SECONDS": sectionLoad, "SUCCESS": sectionLoad, "RECONNECTS": sectionLoad, "TOTAL-REQUEST-NUMBER": sectionOutcomes, "CLIENT-ERROR-COUNT": sectionOutcomes,
		"OK": sectionOutcomes, "FAILED": sectionOutcomes, "SERVER-MAX-CPU-USAGE": sectionMachines, "SERVER-AVG-DISK-SPACE-USAGE": sectionData, "MEMBER-FSYNCS": sectionOwn,
		"MEMBER-METRICS-COST": sectionMembers, "CLOCK-OFFSET": sectionLogs, "LOG-EVENTS": sectionLogs, "SERVER-CPU-SECONDS": sectionMembers, "VERSION": sectionConditions,
	}
	for _, r := range All(trialRuns()) {
		if !known[r.section] {
			t.Errorf("%s is in the section %q, which is not shown", r.Name, r.section)
		}
		if s := want[r.Name]; s != "" && s != r.section {
			t.Errorf("%s is in %q, want %q", r.Name, r.section, s)
		}
		delete(want, r.Name)
	}
	if len(want) > 0 {
		t.Errorf("no rows %v", want)
	}
}
