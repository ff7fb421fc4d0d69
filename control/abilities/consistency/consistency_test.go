package consistency

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/consistency"
	"github.com/coreos/dbtester/pkg/config"
	judge "github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// half returns the half of a run with the entry for its database.
func half(db *config.Database, form consistency.Form) *Half {
	info := database.Info{Reads: []workload.ReadMode{workload.ReadLinearizable}}
	return &Half{run: &abilities.Run{DB: db, Info: info, Record: &results.DatabaseRun{}}, verdict: consistency.Verdict{Form: form}}
}

// TestDoubt: after a client sent requests again by itself, only violations count that no write
// causes which is applied twice, and older values are not lost writes.
func TestDoubt(t *testing.T) {
	all := judge.Violations{Stale: 1, Lost: 2, Phantom: 3, Resurrected: 4, DoubleSwaps: 5}
	for name, c := range map[string]struct {
		found   judge.Violations
		deletes bool
		form    consistency.Form
		want    judge.Violations
		verdict consistency.Form
		why     string
	}{
		"all classes":            {all, false, consistency.Judged, judge.Violations{Lost: 2, Phantom: 3}, consistency.Judged, ""},
		"all classes, deletes":   {all, true, consistency.Judged, judge.Violations{Phantom: 3}, consistency.Judged, ""},
		"none":                   {judge.Violations{}, false, consistency.Judged, judge.Violations{}, consistency.Unjudged, "again by itself, so a write may have been applied twice: only values that nobody wrote and missing keys were looked for"},
		"stale reads":            {judge.Violations{Stale: 9}, false, consistency.Judged, judge.Violations{}, consistency.Unjudged, "the client sent 7 requests"},
		"missing keys, deletes":  {judge.Violations{Lost: 9}, true, consistency.Judged, judge.Violations{}, consistency.Unjudged, "only values that nobody wrote were looked for"},
		"a mode of less promise": {judge.Violations{}, false, consistency.Measured, judge.Violations{}, consistency.Unjudged, "applied twice"},
	} {
		db := &config.Database{}
		db.Load.Mix = []workload.Share{{Operation: workload.OpRead, Weight: 1}, {Operation: workload.OpUpdate, Weight: 1}}
		if c.deletes {
			db.Load.Mix = append(db.Load.Mix, workload.Share{Operation: workload.OpDelete, Weight: 1})
		}
		h := half(db, c.form)
		r := judging.Report{Counts: judge.Counts{Violations: c.found}, Seconds: []judging.Second{{Counts: judge.Counts{Violations: c.found}}}, Held: &judge.HeldKeys{Keys: 9, Read: 9, Older: 4, Gone: 1}}
		for _, class := range judge.Classes() {
			r.Witnesses = append(r.Witnesses, judge.Witness{Class: class})
		}
		h.doubt(&r, 7)
		if r.Counts.Violations != c.want || r.Seconds[0].Counts.Violations != c.want {
			t.Errorf("%s: %+v remain, in the only second %+v, want %+v", name, r.Counts.Violations, r.Seconds[0].Counts.Violations, c.want)
		}
		if v := h.verdict; v.Form != c.verdict || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s: the form is %q because %q, want %q because %q", name, v.Form, v.Why, c.verdict, c.why)
		}
		kept := 2
		if c.deletes {
			kept = 1
		}
		if len(r.Witnesses) != kept || r.Held.Lost() != 1 || r.Held.NotJudged != 4 {
			t.Errorf("%s: %d witnesses and the keys %+v remain, want %d, one lost and 4 not judged", name, len(r.Witnesses), r.Held, kept)
		}
	}
}

// TestEndKeepsNoJudge: the judge of a load, several megabytes, is garbage once its report is made.
func TestEndKeepsNoJudge(t *testing.T) {
	h := half(&config.Database{}, consistency.Judged)
	if _, err := h.Watch(load.Spec{Load: workload.Load{
		Content: workload.Content{Operation: workload.OpUpdate}, Keyspace: workload.Keyspace{Keys: 100, KeyLaw: workload.KeysUniform}, Sizing: workload.Sizing{KeySize: 16, ValueSize: 32},
	}}); err != nil {
		t.Fatalf("watch a load: %v", err)
	}
	judge := weak.Make(h.load)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	h.End(interrupted, abilities.Issued{})
	for range 3 {
		runtime.GC()
	}
	if h.report == nil || judge.Value() != nil {
		t.Errorf("after the load there is the report %v and the judge %v, want the report alone", h.report, judge.Value())
	}
	runtime.KeepAlive(h)
}

// TestBack: on a cluster shared with others, keys are read back over one connection, not faster
// than the load was issued, and within its bound.
func TestBack(t *testing.T) {
	load := workload.Load{}
	load.Steps = []workload.Step{{Clients: 1, Rate: 100, RateEnd: 400, Duration: time.Second}, {Clients: 1, Rate: 300, Duration: time.Second}}
	for name, c := range map[string]struct {
		shared bool
		load   workload.Load
		bound  time.Duration
		want   judging.Back
	}{
		"own members":           {false, load, 0, judging.Back{Connections: 16}},
		"shared":                {true, load, 0, judging.Back{Connections: 1, Rate: 400}},
		"shared, at full speed": {true, workload.Load{}, 0, judging.Back{Connections: 1}},
		"with a bound":          {true, load, time.Second, judging.Back{Connections: 1, Rate: 400, Longest: time.Second}},
	} {
		db := &config.Database{Load: c.load}
		db.Steps.Load = true
		if c.shared {
			db.Endpoints = []string{"a:1"}
		}
		c.want.Mode, c.want.Within = workload.ReadLinearizable, 5*time.Second
		h := half(db, consistency.Judged)
		h.run.Record.LoadEnd = h.run.Record.LoadStart.Add(100 * time.Second)
		if got := h.back(c.bound); got != c.want {
			t.Errorf("%s: keys are read back by %+v, want %+v", name, got, c.want)
		}
	}
}

// TestDescribe: a dry run names the judgements by default, and those that the file requests and
// cannot have.
func TestDescribe(t *testing.T) {
	for name, c := range map[string]struct {
		wish  consistency.Wish
		size  int
		begin string
	}{
		"by default":              {consistency.ByDefault, 32, "the answer of every get and put is judged"},
		"asked for":               {consistency.On, 32, "the answer of every get and put is judged"},
		"turned off":              {consistency.Off, 32, ""},
		"small values by default": {consistency.ByDefault, 8, ""},
		"small values":            {consistency.On, 8, "answers are not judged: values of less than 16 bytes"},
	} {
		db := &config.Database{Abilities: consistency.Keys().With(nil, c.wish)}
		db.Steps.Load, db.Load.Operation, db.Load.ValueSize = true, workload.OpUpdate, c.size
		lines := New(&abilities.Run{DB: db, Experiment: &config.Experiment{}}).Describe()
		if got := strings.Join(lines, "\n"); (got == "") != (c.begin == "") || !strings.HasPrefix(got, c.begin) {
			t.Errorf("%s: %q, want it to begin with %q", name, got, c.begin)
		}
		db.Steps.Load = false
		if h := New(&abilities.Run{DB: db, Experiment: &config.Experiment{}}); h.verdict.Form != "" {
			t.Errorf("%s: without a load the form is %q", name, h.verdict.Form)
		}
	}
}
