package compare

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/stats/abtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// side makes runs with these throughputs, whose p99 is 10,000 ms divided by the throughput. The
// first one begins at a minute, and each one a given number of minutes after the one before.
func side(name string, first, every int, throughputs ...float64) Side {
	s := Side{Name: name}
	for i, v := range throughputs {
		at := time.Unix(1_800_000_000, 0).Add(time.Duration(first+i*every) * time.Minute)
		due := &run.Distribution{Quantile: func(q float64) run.Measure { return run.Measured(10_000*q/v, 1000) }}
		one := &run.Run{
			Info: run.Info{
				Tag: fmt.Sprintf("%s%d", name, i+1), Manifest: &results.Manifest{Format: 4, RunID: fmt.Sprint(name, i)},
				Record: &results.DatabaseRun{Database: "etcd", Tag: "etcd-v3.6", State: results.StateComplete, Moments: results.Moments{LoadStart: at},
					Load: results.Load{Load: workload.Load{Content: workload.Content{Operation: "write"}, Extent: workload.Extent{Requests: 1000, Clients: 10, Connections: 10}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 256}}}},
			},
			Stages: []*run.Stage{{Clients: 10, Throughput: run.Throughput{Average: run.Measured(v, 1000)}, Latency: run.Latency{Due: due}}},
		}
		s.Runs = append(s.Runs, Recorded{Folder: fmt.Sprintf("results/%s-%d", name, i+1), Run: one})
	}
	return s
}

func options() Options { return Options{Metrics: Defaults(), Margin: .03} }

// compared compares two sides that may be compared.
func compared(t *testing.T, a, b Side) *Report {
	t.Helper()
	r, err := compareSides(options(), a, b)
	if err != nil {
		t.Fatalf("compare the sides: %v", err)
	}
	return r
}

func TestVerdict(t *testing.T) {
	slow, fast := []float64{950, 960, 948, 955, 952, 958, 951, 949}, []float64{1000, 1010, 998, 1005, 1002, 1008, 1001, 999}
	for _, tt := range []struct {
		name        string
		a, b        Side
		want        abtest.Verdict
		interleaved bool
		sentence    string
	}{
		{"pairs in turns", turns(fast, slow, "A"), turns(fast, slow, "B"), abtest.Worse, true, "B is worse than A: throughput -5.0 % ["},
		{"one side after the other", side("A", 0, 1, fast...), side("B", 60, 1, slow...), abtest.Worse, false, "p99 +5.3 % ["},
		{"faster", side("A", 0, 1, slow...), side("B", 60, 1, fast...), abtest.Better, false, "B is better than A: throughput +5.3 %"},
		{"equal", side("A", 0, 1, fast...), side("B", 60, 1, fast[1:]...), abtest.Equivalent, false, "B is equivalent to A within 3 %: throughput"},
		{"three runs that differ a lot", side("A", 0, 1, 974, 1002, 608), side("B", 60, 1, 990, 700, 1010), abtest.Inconclusive, false, "at least 5 runs of each are needed to estimate how many would be enough."},
		{"six noisy runs", side("A", 0, 1, 974, 1302, 608, 1000, 700, 1200), side("B", 60, 1, 990, 700, 1010, 1300, 600, 1205), abtest.Inconclusive, false, "the machine is too noisy for a margin of 3 %, which would take more than 60 runs of each to decide: these 6 can decide a margin of "},
		{"A always first", side("A", 0, 2, fast...), side("B", 1, 2, slow...), abtest.Worse, false, ""},
	} {
		r := compared(t, tt.a, tt.b)
		if r.Verdict != tt.want || r.Interleaved != tt.interleaved || !strings.Contains(r.Sentence(), tt.sentence) {
			t.Errorf("%s: %s, interleaved %v, %q; want %s, %v, %q", tt.name, r.Verdict, r.Interleaved, r.Sentence(), tt.want, tt.interleaved, tt.sentence)
		}
		if noted := strings.Contains(r.Text(), "not interleaved"); noted == tt.interleaved {
			t.Errorf("%s: the text has the note on runs that are not interleaved: %v", tt.name, noted)
		}
	}
}

// turns returns one side of runs made as A B B A.
func turns(a, b []float64, name string) Side {
	list := map[string][]float64{"A": a, "B": b}[name]
	s := side(name, 0, 0, list...)
	for i := range s.Runs {
		second := (i%2 == 0) == (name == "B")
		at := 2 * i
		if second {
			at++
		}
		s.Runs[i].Run.Info.Record.LoadStart = time.Unix(1_800_000_000, 0).Add(time.Duration(at) * time.Minute)
	}
	return s
}

// TestRefusals: meaningless questions are refused with the reason.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(a, b *Side)
		want   string
	}{
		{"another load", func(_, b *Side) { b.Runs[1].Run.Info.Record.Load.Clients = 20 }, "clients: 10 in A1, 20 in B2"},
		{"another read mode", func(_, b *Side) { b.Runs[0].Run.Info.Record.Load.Read = "stale" }, `read: not set in A1, "stale" in B1`},
		{"another load inside a side", func(a, _ *Side) { a.Runs[1].Run.Info.Record.Load.Requests = 5 }, "requests: 1000 in A1, 5 in A2"},
		{"other resources", func(_, b *Side) {
			b.Runs[1].Run.Info.Record.Resources = &resources.Limits{CPUs: 1, Period: resources.DefaultPeriod}
		}, "the members had different resources: no limits in A1, "},
		{"other bounds", func(_, b *Side) { b.Runs[0].Run.Info.Record.Load.Judge.Failed.Mark = 7 }, "judge: "},
		{"the same run twice", func(a, b *Side) { b.Runs[0] = a.Runs[0] }, "A1 is the same run as A1"},
		{"another format", func(_, b *Side) { b.Runs[0].Run.Info.Manifest.Format = 3 }, "format 3"},
		{"no run", func(_, b *Side) { b.Runs = nil }, "B has no run"},
	} {
		a, b := side("A", 0, 1, 1000, 1001, 1002), side("B", 60, 1, 1000, 1001, 1002)
		tt.change(&a, &b)
		_, err := compareSides(options(), a, b)
		if refusal := (*Refusal)(nil); !errors.As(err, &refusal) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want a refusal with %q", tt.name, err, tt.want)
		}
	}
	a, b := side("A", 0, 1, 1000, 1001, 1002), side("B", 60, 1, 1000, 1001, 1002)
	b.Runs[0].Run.Info.Record.Load.Target, b.Runs[0].Run.Info.Record.Load.Timeout = "leader", time.Second
	if _, err := compareSides(options(), a, b); err != nil {
		t.Errorf("another target and time-out: %v, want a comparison", err)
	}
}

// TestDifferences: the differing settings come before the numbers.
func TestDifferences(t *testing.T) {
	a, b := side("A", 0, 1, 1000, 1001, 1002), side("B", 60, 1, 1000, 1001, 1002)
	for i := range b.Runs {
		b.Runs[i].Run.Info.Record.Fsync = "none"
		a.Runs[i].Run.Info.Record.Fsync = "every write"
		for hash, r := range map[string]Recorded{"aaaaaaaaaaaaaaaa": a.Runs[i], "bbbbbbbbbbbbbbbb": b.Runs[i]} {
			r.Run.Info.Record.Members = []results.Member{{Version: "3.6.1", Release: &results.Release{SHA256: map[string]string{"etcd": hash}}}}
		}
	}
	b.Runs[1].Run.Info.Record.Members[0].Version = "3.6.2"
	text := compared(t, a, b).Text()
	table := strings.Index(text, "+--")
	for _, want := range []string{"fsync: A: every write; B: none", "executables: A: etcd sha256 aaaaaaaaaaaa; B: etcd sha256 bbbbbbbbbbbb", "versions: A, B: 3.6.1; B: 3.6.2"} {
		if at := strings.Index(text, want); at < 0 || at > table {
			t.Errorf("%q must stand before the table:\n%s", want, text)
		}
	}
	if want := "the runs of B differ among themselves in versions"; !strings.Contains(text, want) {
		t.Errorf("want %q in\n%s", want, text)
	}
}

func TestInvalid(t *testing.T) {
	a, b := side("A", 0, 1, 1000, 1001, 1002), side("B", 60, 1, 1000, 1001, 1002)
	b.Runs[2].Run.Info.Record.Validity = []results.Mark{{Code: "server lost", Invalid: true, Text: "member 1"}, {Code: "shared host", Text: "no matter"}}
	a.Runs[0].Run.Info.Record.State = results.StateFailed
	r := compared(t, a, b)
	if r.Word() != Invalid || len(r.Invalid) != 2 || !strings.Contains(r.Invalid[1], "B-3 (B3): server lost: member 1") {
		t.Errorf("%s, %q; want invalid by A1's state and B3's mark", r.Word(), r.Invalid)
	}
	if strings.Contains(r.Markdown(), "equivalent to A") || !strings.Contains(r.Markdown(), "### Compare: invalid") {
		t.Errorf("invalid runs have a verdict:\n%s", r.Markdown())
	}
}

// One wrong value makes a comparison invalid, also if a run was judged when it had no mark.
func TestWrongValue(t *testing.T) {
	a, b := side("A", 0, 1, 1000, 1001, 1002), side("B", 60, 1, 1100, 1101, 1102)
	b.Runs[1].Run.Load.Errors = []run.ErrorCount{{Class: workload.ClassWrongValue, Count: 1}}
	r := compared(t, a, b)
	if r.Word() != Invalid || len(r.Invalid) != 1 || !strings.Contains(r.Invalid[0], "B-2 (B2): wrong value: 1") {
		t.Errorf("%s, %q; want invalid by the wrong value of B2", r.Word(), r.Invalid)
	}
}

// TestUnknown: a metric that decides but is unknown for one run leaves no verdict but worse.
func TestUnknown(t *testing.T) {
	a, b := side("A", 0, 1, 1000, 1001, 1002, 1003, 1004), side("B", 60, 1, 1000, 1001, 1002, 1003, 1004)
	b.Runs[1].Run.Stages[0].Latency.Due = run.Unmeasured("nothing was answered")
	r := compared(t, a, b)
	if r.Verdict != abtest.Inconclusive || !strings.Contains(strings.Join(r.Notes, "\n"), "p99 is not known for B2 (nothing was answered)") {
		t.Errorf("%s %q, want inconclusive and the run without a p99", r.Verdict, r.Notes)
	}
	for i := range b.Runs {
		b.Runs[i].Run.Stages[0].Throughput.Average = run.Measured(float64(500+i), 1)
	}
	if r = compared(t, a, b); r.Verdict != abtest.Worse {
		t.Errorf("%s with half the throughput, want worse", r.Verdict)
	}
}

func TestFormats(t *testing.T) {
	r := compared(t, turns([]float64{1000, 1004, 998}, []float64{500, 501, 502}, "A"), turns([]float64{1000, 1004, 998}, []float64{500, 501, 502}, "B"))
	text, err := r.JSON()
	if err != nil {
		t.Fatalf("encode json: %v", err)
	}
	var d document
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.Verdict != "inconclusive" || len(d.Metrics) != 5 || d.Metrics[0].LowPercent != nil || len(d.Metrics[0].B) != 3 {
		t.Errorf("%v, JSON has verdict %q and metrics %+v; want inconclusive and five, the first without a bound", err, d.Verdict, d.Metrics)
	}
	table, err := r.CSV()
	if err != nil {
		t.Fatalf("encode csv: %v", err)
	}
	if lines, err := csv.NewReader(strings.NewReader(table)).ReadAll(); err != nil || len(lines) != 6 || lines[1][0] != "throughput" || lines[1][11] != "inconclusive" {
		t.Errorf("%v, CSV has %q; want a header and five metrics", err, lines)
	}
	const want = "Unit requests/s better=higher\nside: A\nBenchmarkLoad 1 1000 requests/s 5 p50-ms 9 p90-ms 9.9 p99-ms 9.99 p999-ms\n"
	if got := r.Benchstat(); !strings.HasPrefix(got, want) || strings.Count(got, "\nBenchmarkLoad 1 ") != 6 || !strings.Contains(got, "\nside: B\nBenchmarkLoad 1 500 requests/s 10 p50-ms") {
		t.Errorf("benchstat's format:\n%s\nwant it to begin with\n%s", got, want)
	}
	if md := r.Markdown(); !strings.Contains(md, "| throughput, requests/s | 1000 | 501 | -49.9 % | \\[too few runs\\] | 0.5000 |") {
		t.Errorf("Markdown without the row of throughput:\n%s", md)
	}
}
