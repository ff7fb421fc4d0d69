package diskcheck

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// fakeLog takes known times, which pass only in a bubble of synctest.
type fakeLog struct {
	appendTakes, renewTakes time.Duration
	syncTakes               func(n int) time.Duration // for the nth, from 1
	sizes                   []int
	syncs, renewals         int
	used, mostUsed          int
	failAt                  map[string]int // the nth call to a method
	err                     error
}

func (f *fakeLog) fails(method string, n int) error {
	if f.failAt[method] == n {
		return f.err
	}
	return nil
}

func (f *fakeLog) Append(p []byte) error {
	time.Sleep(f.appendTakes)
	f.sizes = append(f.sizes, len(p))
	f.used += len(p)
	f.mostUsed = max(f.mostUsed, f.used)
	return f.fails("append", len(f.sizes))
}

func (f *fakeLog) Sync() error {
	f.syncs++
	if f.syncTakes != nil {
		time.Sleep(f.syncTakes(f.syncs))
	}
	return f.fails("sync", f.syncs)
}

func (f *fakeLog) Renew() error {
	time.Sleep(f.renewTakes)
	f.used = 0
	f.renewals++
	return f.fails("renew", f.renewals)
}

// near is equality within 0.1 %, as in a histogram.
func near(got, want time.Duration) bool { return (got - want).Abs() <= want/1000 }

// Among 1,000 times 990 are 2 ms, nine 20 ms and one 50 ms. Each append takes another 1 ms.
func TestMeasure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{appendTakes: time.Millisecond, renewTakes: time.Hour, syncTakes: func(n int) time.Duration {
			switch {
			case n == 500:
				return 50 * time.Millisecond
			case n%100 == 0:
				return 20 * time.Millisecond
			}
			return 2 * time.Millisecond
		}}
		r, err := Measure(t.Context(), log, Options{Duration: 100 * time.Hour, Count: 1000})
		if err != nil {
			t.Fatalf("measure: %v", err)
		}
		var bytes int64
		for _, size := range log.sizes {
			bytes += int64(size)
		}
		if busy := 3210 * time.Millisecond; r.Appends != 1000 || r.Bytes != bytes || r.Busy != busy {
			t.Errorf("%d appends of %d bytes in %v, want 1000 of %d in %v, without the renewal", r.Appends, r.Bytes, r.Busy, bytes, busy)
		}
		for name, times := range map[string][2]Times{
			"fdatasync": {r.Sync, {1000, 2 * time.Millisecond, 2 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond}},
			"both":      {r.Both, {1000, 3 * time.Millisecond, 3 * time.Millisecond, 21 * time.Millisecond, 51 * time.Millisecond}},
		} {
			got, want := times[0], times[1]
			if got.N != want.N || !near(got.P50, want.P50) || !near(got.P99, want.P99) || !near(got.P999, want.P999) || got.Longest != want.Longest {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
		if got := r.SyncsPerSecond(); got < 311 || got > 312 {
			t.Errorf("%v syncs per second, want 1000 / 3.21", got)
		}
	})
}

// Sizes follow the pattern and are the same each time; a full log is renewed.
func TestPattern(t *testing.T) {
	t.Parallel()
	var sizes [2][]int
	for i := range sizes {
		synctest.Test(t, func(t *testing.T) {
			log := &fakeLog{renewTakes: time.Hour}
			r, err := Measure(t.Context(), log, Options{Duration: 100 * time.Hour, Count: 25_000})
			if err != nil || r.Appends != 25_000 || r.Busy != 0 {
				t.Fatalf("%d appends in %v (%v), want 25000 in no time", r.Appends, r.Busy, err)
			}
			if log.renewals != 3 || log.mostUsed > SegmentBytes || log.mostUsed < SegmentBytes-MaxAppend {
				t.Errorf("%d renewals after at most %d bytes, want 3 after %d", log.renewals, log.mostUsed, SegmentBytes)
			}
			sizes[i] = log.sizes
		})
	}
	if least, most := slices.Min(sizes[0]), slices.Max(sizes[0]); least < 2048 || least > 2060 || most > 10240 || most < 10230 {
		t.Errorf("sizes from %d to %d, want 2048 to 10240", least, most)
	}
	if !slices.Equal(sizes[0], sizes[1]) {
		t.Error("the sizes of two checks differ, want the same")
	}
}

func TestMeasureEnds(t *testing.T) {
	t.Parallel()
	for want, o := range map[int64]Options{
		10: {Duration: time.Second},
		1:  {},
		7:  {Duration: time.Second, Count: 7},
	} {
		synctest.Test(t, func(t *testing.T) {
			log := &fakeLog{syncTakes: func(int) time.Duration { return 100 * time.Millisecond }}
			if r, err := Measure(t.Context(), log, o); err != nil || r.Appends != want {
				t.Errorf("%+v ends after %d appends (%v), want %d", o, r.Appends, err, want)
			}
		})
	}
}

func TestMeasureStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the cause")
	log := &fakeLog{syncTakes: func(n int) time.Duration {
		if n == 5 {
			cancel(cause)
		}
		return 0
	}}
	r, err := Measure(ctx, log, Options{Duration: time.Hour})
	if !errors.Is(err, cause) || log.syncs != 5 || r.Appends != 5 || r.Sync.N != 5 || r.Both.N != 5 || r.Bytes == 0 {
		t.Errorf("%v after %d syncs with %+v, want %v with the times of 5", err, log.syncs, r, cause)
	}
	if r, err := Measure(ctx, log, Options{Duration: time.Hour}); !errors.Is(err, cause) || r != (Result{}) || log.syncs != 5 {
		t.Errorf("%v with %+v, want %v without times before the first append", err, r, cause)
	}
	for method, want := range map[string]string{"append": "append ", "sync": "fdatasync: ", "renew": "no space"} {
		log := &fakeLog{failAt: map[string]int{method: 1}, err: syscall.ENOSPC}
		if _, err := Measure(t.Context(), log, Options{Duration: time.Hour}); !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v of %s, want %s... and %v", err, method, want, syscall.ENOSPC)
		}
	}
}
