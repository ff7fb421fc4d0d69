package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// read is a record as a reader of the format sees it.
type read struct {
	Name    string         `json:"name"`
	Phase   string         `json:"ph"`
	Time    *float64       `json:"ts"`
	Length  *float64       `json:"dur"`
	Process int            `json:"pid"`
	Thread  int            `json:"tid"`
	Scope   string         `json:"s"`
	Args    map[string]any `json:"args"`
}

// traced is a trace that was read.
type traced struct {
	zero    time.Time
	records []read
	names   map[[2]int]string // for processes (thread 0) and threads
}

// begin is when the load in the fixture begins.
var begin = time.Unix(runtest.Begin, 5e8).UTC()

// hostile is a name or a text that a server may have chosen.
const hostile = "</script><img src=x>\"\\\u2028\u202e\x1b[2J\n"

// fixture is a run with events of all kinds, and the folder with its records.
func fixture(t *testing.T) (*run.Run, string) {
	t.Helper()
	f := runtest.NewFixture(t, t.TempDir())
	f.Rate = 1000
	record := f.Database("etcd", 2*time.Millisecond)
	record.Stops = &results.Stops{N: 1, Stretches: []results.Stretch{{From: begin.Add(6 * time.Second), Length: 250 * time.Millisecond}}}
	w, err := results.NewEventWriter(filepath.Join(f.Dir, "etcd", results.FileEvents))
	f.Ok(err)
	for _, e := range []results.Event{
		{Time: begin.Add(-time.Second), Kind: "ready", Member: -1},
		{Time: begin.Add(time.Second), Kind: "fault", Text: "pause for 300ms", Member: 1},
		{Time: begin.Add(1300*time.Millisecond + 7), Kind: "fault over", Member: 1},
		{Time: begin.Add(2 * time.Second), Kind: results.EventLeader, Member: 0},
		{Time: begin.Add(3 * time.Second), Kind: "compact", Took: 40 * time.Millisecond, Member: -1},
		{Time: begin.Add(100 * time.Millisecond), Kind: "slow fdatasync", Took: 3 * time.Second, Log: "logs/1.log", Line: 12, Text: "took too long", Member: 0},
		{Time: begin.Add(4 * time.Second), Kind: "apply took too long", Took: 2 * time.Second, Log: "logs/1.log", Line: 13, Member: 0},
		{Time: begin.Add(4500 * time.Millisecond), Kind: "apply took too long", Took: 2 * time.Second, Log: "logs/1.log", Line: 14, Member: 0},
		{Time: begin.Add(4 * time.Second), Kind: hostile, Took: time.Second, Log: "logs/1.log", Line: 15, Text: strings.Repeat(hostile, 50), Member: 0},
		{Time: begin.Add(5 * time.Second), Kind: "fault over", Member: 0},
	} {
		f.Ok(w.Write(e))
	}
	f.Ok(w.Close())
	dir := f.Write()
	runs, err := run.FromFolder(dir)
	f.Ok(err)
	r := runs[0]
	return r, filepath.Join(dir, "etcd")
}

// parsed reads the trace of a run.
func parsed(t *testing.T, r *run.Run) (out traced) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := Write(&again, r); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("two traces of one run differ (%v)", err)
	}
	var file struct {
		Unit    string            `json:"displayTimeUnit"`
		Other   map[string]string `json:"otherData"`
		Records []read            `json:"traceEvents"`
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatalf("%v in %.500s", err, b.Bytes())
	}
	var err error
	if out.zero, err = time.Parse(time.RFC3339Nano, file.Other["zero"]); err != nil || file.Unit != "ms" {
		t.Errorf("unit %q and other data %v: %v", file.Unit, file.Other, err)
	}
	out.records, out.names = file.Records, map[[2]int]string{}
	for _, one := range file.Records {
		if one.Phase == "M" && strings.HasSuffix(one.Name, "_name") {
			out.names[[2]int{one.Process, one.Thread}] = one.Args["name"].(string)
		}
	}
	return out
}

// check fails if the format is violated: an unknown phase, a missing or negative time, a track
// without a name, slices on a track that overlap without one being inside the other.
func (d *traced) check(t *testing.T) {
	t.Helper()
	open := map[[2]int][]float64{}
	last := map[[2]int]float64{}
	for _, one := range d.records {
		if !slices.Contains([]string{"M", "C", "X", "i"}, one.Phase) || one.Name == "" {
			t.Errorf("record %+v has an unknown phase or no name", one)
		}
		if one.Phase == "M" {
			continue
		}
		if one.Time == nil || *one.Time < 0 || d.names[[2]int{one.Process, 0}] == "" {
			t.Errorf("record %+v has no time, an impossible one, or a process without a name", one)
			continue
		}
		if one.Phase == "C" {
			for name, v := range one.Args {
				if n, is := v.(float64); !is || n < 0 || math.IsInf(n, 0) {
					t.Errorf("counter %s %s has the value %v", one.Name, name, v)
				}
			}
			continue
		}
		track := [2]int{one.Process, one.Thread}
		if d.names[track] == "" || *one.Time < last[track] {
			t.Errorf("record %+v has a track without a name, or comes before the one before it", one)
		}
		last[track] = *one.Time
		if one.Phase == "i" {
			if one.Scope != "t" || one.Length != nil {
				t.Errorf("instant %+v", one)
			}
			continue
		}
		end := *one.Time + *one.Length
		ends := open[track]
		for len(ends) > 0 && ends[len(ends)-1] <= *one.Time {
			ends = ends[:len(ends)-1]
		}
		if *one.Length <= 0 || len(ends) > 0 && ends[len(ends)-1] < end {
			t.Errorf("%q on track %q until %v overlaps one until %v", one.Name, d.names[track], end, ends)
		}
		open[track] = append(ends, end)
	}
}

// find returns the slices and instants with a name on a track.
func (d *traced) find(track, name string) (out []read) {
	for _, one := range d.records {
		if (one.Phase == "X" || one.Phase == "i") && one.Name == name && strings.HasPrefix(d.names[[2]int{one.Process, one.Thread}], track) {
			out = append(out, one)
		}
	}
	return out
}

// at returns the beginning and the end of a record after the load began.
func (d *traced) at(one read) (from, to time.Duration) {
	from = d.zero.Add(time.Duration(math.Round(*one.Time * 1e3))).Sub(begin)
	to = from
	if one.Length != nil {
		to += time.Duration(math.Round(*one.Length * 1e3))
	}
	return from, to
}

// Everything that was recorded is in the trace once, at its time, in a file that the format allows.
func TestWrite(t *testing.T) {
	r, dir := fixture(t)
	r.Stalls = run.Stalls{
		List: []run.Stall{{From: begin.Add(time.Second), Length: 300 * time.Millisecond, OK: 5, Expected: 300, Coincided: []run.Overlap{{Kind: hostile, Length: 200 * time.Millisecond}}}},
	}
	d := parsed(t, r)
	d.check(t)
	name := "</script><img src=x>\"\\\\u2028\\u202e\\x1b[2J "
	for _, c := range []struct {
		track, name string
		process     int
		from, to    time.Duration
	}{
		{"steps", "step 0: 10 clients", 1, 0, 4 * time.Second},
		{"steps", "step 1: 50 clients", 1, 4 * time.Second, 8 * time.Second},
		{"stalls", "stall", 1, time.Second, 1300 * time.Millisecond},
		{run.KindClient, run.KindClient, 1, 6 * time.Second, 6250 * time.Millisecond},
		{"events", "compact", 1, 3 * time.Second, 3040 * time.Millisecond},
		{"events", "another leader", 2, 2 * time.Second, 2 * time.Second},
		{"done on purpose", "fault: pause for 300ms", 3, time.Second, 1300*time.Millisecond + 7},
		{"events", "fault over", 2, 5 * time.Second, 5 * time.Second},
		{"log lines", "slow fdatasync", 2, -2900 * time.Millisecond, 100 * time.Millisecond},
		{"log lines", name, 2, 3 * time.Second, 4 * time.Second},
	} {
		found := d.find(c.track, c.name)
		if len(found) != 1 {
			t.Errorf("%d records %q on track %q, want one", len(found), c.name, c.track)
			continue
		}
		if from, to := d.at(found[0]); from != c.from || to != c.to || found[0].Process != c.process {
			t.Errorf("%q is from %v to %v in process %d, want %v to %v in %d", c.name, from, to, found[0].Process, c.from, c.to, c.process)
		}
	}
	if got := d.find("log lines", "apply took too long"); len(got) != 2 || got[0].Thread == got[1].Thread {
		t.Errorf("lines that overlap are %+v, want two tracks", got)
	}
	if with := d.find("stalls", "stall")[0].Args["coincided with"]; with != name+" (0.2 s)" {
		t.Errorf("the stall coincided with %q, want %q", with, name)
	}
	events := 0
	for _, one := range d.records {
		for _, text := range append([]string{one.Name}, fmt.Sprint(one.Args)) {
			if strings.ContainsAny(text, "\u2028\u202e\x1b\n") || len(text) > 3*mostText {
				t.Errorf("record %q has a hostile or long text", text)
			}
		}
		if track := d.names[[2]int{one.Process, one.Thread}]; one.Phase != "C" && one.Phase != "M" && (strings.HasPrefix(track, "log") || track == "events" || track == "done on purpose") {
			events++
		}
	}
	if want := len(r.Machines.Events) - 1; events != want { // one ends another
		t.Errorf("%d events, want %d", events, want)
	}
	d.sums(t, r, dir)
}

// sums compares the counters with the records.
func (d *traced) sums(t *testing.T, r *run.Run, dir string) {
	t.Helper()
	got := map[string]float64{}
	for _, one := range d.records {
		if one.Phase != "C" {
			continue
		}
		for name, v := range one.Args {
			got[fmt.Sprintf("%d %s %s", one.Process, one.Name, name)] += v.(float64)
		}
	}
	rows, err := results.ReadIntervals(filepath.Join(dir, results.FileIntervals))
	if err != nil {
		t.Fatal(err)
	}
	var ok, failed, unknown, due int64
	for i := range rows {
		ok, failed, unknown, due = ok+rows[i].OK, failed+rows[i].Failed, unknown+rows[i].Unknown, due+rows[i].Due
	}
	for name, want := range map[string]int64{"1 requests ended ok": ok, "1 requests ended failed": failed, "1 requests ended unknown": unknown, "1 requests due due": due} {
		if value, is := got[name]; !is || int64(value) != want {
			t.Errorf("the counter %q sums to %v, want %d", name, value, want)
		}
	}
	// The fixture has 1,000 ok requests in no second, so no p99.
	p90 := 0.0
	for _, v := range r.SecondQuantiles(.9) {
		p90 += v[0]
	}
	if value := got["1 latency of ok requests (ms) p90"]; math.Abs(value-p90) > 1e-6 || p90 == 0 {
		t.Errorf("the p90 sum to %v, want %v", value, p90)
	}
	if value, is := got["1 latency of ok requests (ms) p99"]; is {
		t.Errorf("there are p99 whose sum is %v, want none", value)
	}
	for _, name := range []string{"2 processors used processors", "3 memory (MB) resident"} {
		if got[name] <= 0 {
			t.Errorf("the counter %q has no values", name)
		}
	}
}

// Slices that find no track of their own are instants with their length, and each is kept.
func TestManyAtOnce(t *testing.T) {
	r, _ := fixture(t)
	r.Machines.Events = nil
	for i := range 50 {
		end := begin.Add(time.Second + time.Duration(i)*time.Millisecond)
		r.Machines.Events = append(r.Machines.Events, results.Event{Time: end, Kind: "took too long", Took: 100 * time.Millisecond, Log: "logs/1.log"})
	}
	d := parsed(t, r)
	d.check(t)
	tracks, instants := map[int]bool{}, 0
	all := d.find("log lines", "took too long")
	for _, one := range all {
		tracks[one.Thread] = true
		if one.Phase == "i" {
			instants++
			if one.Args["length_ms"] != 100.0 {
				t.Errorf("an instant has the length %v, want 100", one.Args["length_ms"])
			}
		}
	}
	if len(all) != 50 || len(tracks) != mostLanes || instants != 50-mostLanes {
		t.Errorf("%d slices on %d tracks, %d of them instants", len(all), len(tracks), instants)
	}
}

// A run without requests is a trace too.
func TestEmpty(t *testing.T) {
	r := &run.Run{Info: run.Info{Tag: "etcd", Record: &results.DatabaseRun{}}}
	d := parsed(t, r)
	d.check(t)
	if len(d.find("", "stall")) != 0 {
		t.Error("a stall without a load")
	}
}
