package results

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// The lines by minute hold the same latencies as the lines by second, series by series and bucket
// by bucket. Each lies within one minute, counted from the first second of the load or from where
// its step's window starts, wherever in a second that is.
func TestMinuteLog(t *testing.T) {
	dir := t.TempDir()
	start := time.Unix(1_800_000_017, 0).UTC()
	seconds, err := histogram.NewLogWriter(filepath.Join(dir, FileLatency), start)
	if err != nil {
		t.Fatalf("open the log by second: %v", err)
	}
	minutes, err := NewMinuteLog(filepath.Join(dir, FileMinutes), start, seconds)
	if err != nil {
		t.Fatalf("open the log by minute: %v", err)
	}
	const warm, length = 7, 400 // seconds
	draw := rand.New(rand.NewPCG(5, 6))
	n := 0
	for step := range 2 {
		for i := range length {
			at := start.Add(time.Duration(step*length+i) * time.Second)
			if err := minutes.Begin(at); err != nil {
				t.Fatalf("begin a second: %v", err)
			}
			s := Series{Timing: TimingService, Outcome: workload.OK, Step: step, Phase: PhaseMeasure}
			if i < warm {
				s.Phase = PhaseWarmUp
			}
			for _, op := range []string{"read", "write"} {
				if s.Operation = op; i > warm && draw.IntN(3) > 0 { // some seconds have no answer
					continue
				}
				h := histogram.New()
				for range 1 + draw.IntN(50) {
					histogram.Record(h, time.Duration(draw.Int64N(1e9)))
				}
				if err := seconds.Write(at, time.Second, s.Tag(), h); err != nil {
					t.Fatalf("write: %v", err)
				}
				minutes.Add(s, h)
				n++
			}
		}
		if err := minutes.Flush(); err != nil {
			t.Fatalf("end a step: %v", err)
		}
	}
	if err := minutes.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	want, err := ReadTotals(filepath.Join(dir, FileLatency))
	if err != nil {
		t.Fatalf("read the log by second: %v", err)
	}
	got, err := ReadTotals(filepath.Join(dir, FileMinutes))
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d series by minute, want %d: %v", len(got), len(want), err)
	}
	for s, h := range want {
		if got[s] == nil || !got[s].Equals(h) {
			t.Errorf("%s by minute differs from the sum of its seconds", s.Tag())
		}
	}
	lines := 0
	for l, err := range histogram.ReadBuckets(filepath.Join(dir, FileMinutes)) {
		if err != nil {
			t.Fatalf("read the log by minute: %v", err)
		}
		lines++
		s, err := ParseSeries(l.Tag)
		if err != nil {
			t.Fatalf("%v", err)
		}
		last := l.Start.Add(l.Length - time.Second)
		window := start.Add(time.Duration(s.Step*length+warm) * time.Second)
		for _, from := range []time.Time{start, window, window.Add(time.Second)} {
			if a, b := minuteAfter(from, l.Start), minuteAfter(from, last); s.Phase == PhaseMeasure && a != b {
				t.Errorf("the line from %v to %v lies in two minutes that begin at %v", l.Start, last, from)
			}
		}
	}
	if lines > n/2 {
		t.Errorf("%d lines by minute for %d by second", lines, n)
	}
}

// minuteAfter returns the whole minutes from one time to another.
func minuteAfter(from, at time.Time) int {
	d := at.Sub(from)
	if d < 0 {
		d -= time.Minute - 1
	}
	return int(d / time.Minute)
}
