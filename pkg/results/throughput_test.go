package results

import (
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coreos/dbtester/pkg/workload"
)

func TestProgressRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileProgress)
	w, err := NewProgressWriter(path)
	check(t, err)
	rows := []Progress{
		{Step: 1, FromNS: 0, ToNS: 1e8, Operation: "write", Due: 1, OK: 2, Failed: 3, Unknown: 4, Shed: 5, Unsent: 6, InFlight: 7, FirstOKNS: 8, LastOKNS: 9},
		{Step: 2, FromNS: 1e8, ToNS: 1e8, Operation: "read"},
	}
	check(t, w.Write(rows))
	check(t, w.Close())
	got, err := ReadProgress(path)
	check(t, err)
	diff(t, "rows", rows, got)
	const header = "step,from_ns,to_ns,operation,due,ok,failed,unknown,shed,unsent,in_flight,first_ok_ns,last_ok_ns\n"
	if text := mustRead(t, path); text[:len(header)] != header {
		t.Errorf("header of %s is not %s", text, header)
	}
}

// ticksOf makes a row for every tick of a window that begins at 0.
func ticksOf(window time.Duration, ok func(tick int) int64) (rows []Progress) {
	for from := time.Duration(0); from < window; from += ProgressTick {
		to := min(from+ProgressTick, window)
		rows = append(rows, Progress{FromNS: int64(from), ToNS: int64(to), Operation: "write", OK: ok(len(rows))})
	}
	return rows
}

func TestExtremesOfSeconds(t *testing.T) {
	for name, tc := range map[string]struct {
		window          time.Duration
		ok              func(tick int) int64
		least, most     float64
		average         float64
		seconds         int64
		missingExtremes Reason
	}{
		"even":      {4 * time.Second, func(int) int64 { return 10 }, 100, 100, 100, 4, ""},
		"one stall": {4 * time.Second, func(n int) int64 { return int64(min(n/10, 1)) * 10 }, 0, 100, 75, 4, ""},
		"a remainder is joined to the last second": {3500 * time.Millisecond, func(n int) int64 { return int64(n/30) * 30 }, 0, 100, 150 / 3.5, 3, ""},
		"under three": {2900 * time.Millisecond, func(int) int64 { return 10 }, 0, 0, 100, 2, TooFewSeconds},
		"under one":   {900 * time.Millisecond, func(int) int64 { return 10 }, 0, 0, 100, 0, TooFewSeconds},
	} {
		t.Run(name, func(t *testing.T) {
			got := counted(span{0, int64(tc.window)}, 0, ticksOf(tc.window, tc.ok))["write"]
			least, most, missing := got.Extremes()
			if least != tc.least || most != tc.most || missing != tc.missingExtremes {
				t.Errorf("extremes %v to %v (%q), want %v to %v (%q)", least, most, missing, tc.least, tc.most, tc.missingExtremes)
			}
			if average, missing := got.Average(); average != tc.average || missing != "" || got.WholeSeconds != tc.seconds {
				t.Errorf("average %v (%q) over %d whole seconds, want %v over %d", average, missing, got.WholeSeconds, tc.average, tc.seconds)
			}
		})
	}
}

// counted returns the throughputs from a step's rows.
func counted(window span, step int, rows []Progress) map[string]Throughput {
	c := newStepCounts(window)
	for i := range rows {
		if rows[i].Step == step {
			c.add(&rows[i])
		}
	}
	return c.throughputs()
}

// TestAverageLiesBetweenExtremes: whenever requests end, however long the windows and however
// many the steps.
func TestAverageLiesBetweenExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		windows, rows := map[int]span{}, []Progress(nil)
		for step := range rapid.IntRange(1, 4).Draw(t, "steps") {
			from := rapid.Int64Range(0, 3e9).Draw(t, "warm-up")
			windows[step] = span{from, from + rapid.Int64Range(0, 12e9).Draw(t, "window")}
			for _, p := range ticksOf(time.Duration(windows[step].to-from), func(int) int64 {
				return rapid.Int64Range(0, 5).Draw(t, "ok") * rapid.Int64Range(0, 1000).Draw(t, "times")
			}) {
				p.Step, p.FromNS, p.ToNS = step, p.FromNS+from, p.ToNS+from
				rows = append(rows, p)
			}
		}
		var all Throughput
		for step := range windows {
			one := counted(windows[step], step, rows)[""]
			all.add(&one)
		}
		average, missing := all.Average()
		least, most, tooFew := all.Extremes()
		if missing == "" && tooFew == "" && (average < least || average > most) {
			t.Fatalf("average %v must lie between %v and %v", average, least, most)
		}
		if free := float64(all.OK) / all.Window.Seconds(); missing == "" && (average-free > 1e-9*free || free-average > 1e-9*free) {
			t.Fatalf("average %v must be %v, what was served over the window", average, free)
		}
	})
}

// TestOlderFormat: a format 1 folder has no progress. The requests that whole steps served are
// known, but not those that parts of steps served.
func TestOlderFormat(t *testing.T) {
	folder, err := Open(filepath.Join("testdata", "format1"))
	check(t, err)
	m, err := folder.Manifest()
	check(t, err)
	if m.Format != 1 {
		t.Fatalf("the folder has format %d, want 1", m.Format)
	}
	run := m.Databases[0]
	s, err := Summarize(folder.Path(run.Tag), run)
	check(t, err)
	average, missing := s.Served.Average()
	if want := float64(s.OK) / s.Window.Seconds(); missing != "" || average != want {
		t.Errorf("average %v (%q), want %v", average, missing, want)
	}
	if _, _, missing := s.Served.Extremes(); missing != NotRecorded {
		t.Errorf("extremes are missing because %q, want %q", missing, NotRecorded)
	}
	for name, change := range map[string]func(*DatabaseRun){
		"warm-up":  func(r *DatabaseRun) { r.Load.WarmUp = time.Millisecond },
		"duration": func(r *DatabaseRun) { r.Steps[0].Step = workload.Step{Clients: 1, Duration: time.Minute} },
	} {
		changed := *run
		changed.Steps = append([]Step(nil), run.Steps...)
		change(&changed)
		s, err := Summarize(folder.Path(run.Tag), &changed)
		check(t, err)
		if _, missing := s.Served.Average(); missing != NotRecorded {
			t.Errorf("%s: the average is missing because %q, want %q", name, missing, NotRecorded)
		}
	}
	if run.Steps[0].LargestGap != nil {
		t.Errorf("largest gap %v, want nil: not recorded", run.Steps[0].LargestGap)
	}
}
