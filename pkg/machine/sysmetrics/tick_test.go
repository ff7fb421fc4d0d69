package sysmetrics

import (
	"context"
	"math"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// TestShortPeriods samples ten times a second. Expensive files are read once a second, and
// nothing is missing when the samples are joined to seconds.
func TestShortPeriods(t *testing.T) {
	f := newFixture(t)
	put := func(switched, own int) {
		f.put(fake{pid: 10, start: 1, own: own, threads: map[int]switches{10: {int64(switched), 0}, 11: {5, 0}}})
	}
	put(100, 100)
	f.put(fake{pid: 20, ppid: 10, start: 2})
	s := f.sampler(Options{PIDs: pids(10), Tree: true, Period: 100 * time.Millisecond})
	k := &kept{write: func(n int) error {
		put(100+n, 100+n)
		if n == 15 {
			f.put(fake{pid: 30, ppid: 10, start: 3})
		}
		return nil
	}}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3050*time.Millisecond)
		defer cancel()
		if err := s.Run(ctx, k); err != nil {
			t.Errorf("run the sampler: %v", err)
		}
	})
	if n := len(k.samples); n != 32 {
		t.Fatalf("want 32 samples (the first, 30 ticks, the last), got %d", n)
	}
	whole := 0
	for i, got := range k.samples {
		if got.Get(metric.CPUSeconds) < 0 || got.Get(metric.WritesCompleted) >= 0 || got.Get(metric.HostCPUSeconds) < 0 {
			t.Errorf("sample %d must know the CPU times and no device, got %v", i, got.Values)
		}
		if got.Get(metric.VoluntarySwitches) >= 0 {
			whole++
		}
		if want := map[bool]float64{true: 3, false: 2}[i > 19]; got.Get(metric.Processes) != want {
			t.Errorf("sample %d must have %g processes: new ones are looked for once a second; got %g", i, want, got.Get(metric.Processes))
		}
	}
	if whole != 5 {
		t.Errorf("threads must be read once in each of 4 seconds, and by the last sample, got %d times", whole)
	}
	rows := results.Interpolate(k.samples)
	if len(rows) != 4 {
		t.Fatalf("want a row for each of 4 seconds, got %d", len(rows))
	}
	for i, row := range rows {
		if row.Get(metric.VoluntarySwitches) < 100 || row.Get(metric.RunDelay) < 0 {
			t.Errorf("second %d must have what its first sample read, got %v", i, row.Values)
		}
		if i > 0 && i < 3 && (row.PeriodNS != int64(time.Second) || math.Abs(row.Get(metric.CPUPercent)-10) > 1e-6) {
			t.Errorf("second %d must have 10 %% of a core over a second, got %g over %v", i, row.Get(metric.CPUPercent), time.Duration(row.PeriodNS))
		}
	}
	if got := results.EachSecond(k.samples); len(got) != 4 || got[2].Get(metric.VoluntarySwitches) < 0 {
		t.Errorf("each second must have one sample, got %d", len(got))
	}
}

func TestPeriod(t *testing.T) {
	for ns, want := range map[int64]time.Duration{0: time.Second, 1e9: time.Second, 1e8: 100 * time.Millisecond, 25e7: 250 * time.Millisecond} {
		if got, err := Period(ns); got != want || err != nil {
			t.Errorf("%d ns must be a period of %v, got %v, %v", ns, want, got, err)
		}
	}
	for _, ns := range []int64{-1, 1, 99e6, 300e6, 1e9 + 1, 1 << 62} {
		if got, err := Period(ns); err == nil {
			t.Errorf("%d ns must be refused, got %v", ns, got)
		}
	}
}

// Thread counts survive samples that do not read them.
func TestThreadsAreReadAgain(t *testing.T) {
	f := newFixture(t)
	f.put(fake{pid: 10, start: 1, threads: map[int]switches{10: {1, 0}, 11: {5, 0}}})
	s := f.sampler(Options{PIDs: pids(10), Tree: true})
	sample(t, s)
	s.tree.whole = false
	if u, err := s.tree.sample([]int{10}); err != nil || u.processes != 1 {
		t.Fatalf("a light sample must know the process, got %+v and %v", u, err)
	}
	f.write("State:\tS (sleeping)\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t0\n", filepath.Join(strconv.Itoa(10), "task", "11", "status"))
	if got := sample(t, s); !has(got, map[metric.Name]float64{metric.VoluntarySwitches: 10}) {
		t.Errorf("a whole sample after it must sum the threads to 10, got %v", got.Values)
	}
}
