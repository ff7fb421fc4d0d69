package judging

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
)

// slow is a store whose reads take a time, longer from a read on, and fail from another one on.
type slow struct {
	store
	takes, longer time.Duration
	longerFrom    int // may be 0
	failsFrom     int // may be 0
	reads         int
	at            []time.Time
}

func (s *slow) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	s.mu.Lock()
	s.reads++
	n := s.reads
	s.at = append(s.at, time.Now())
	s.mu.Unlock()
	if s.longerFrom > 0 && n >= s.longerFrom {
		time.Sleep(s.longer)
	} else {
		time.Sleep(s.takes)
	}
	if s.failsFrom > 0 && n >= s.failsFrom {
		return nil, database.NotApplied(database.ClassThrottled, errors.New("busy"))
	}
	return s.store.Get(ctx, key, mode)
}

// wroteKeys returns the judge for a load that wrote some keys.
func wroteKeys(t *testing.T, keys int64) *Load {
	t.Helper()
	spec := registers(false)
	spec.Keys = keys
	l, err := New(Options{Spec: spec, Clients: 1})
	if err != nil {
		t.Fatal(err)
	}
	var ended []load.Ended
	for key := range keys {
		ended = append(ended, load.Ended{Number: key + 1, Key: key, Sent: 10 * key, End: 10*key + 5, Op: 1})
	}
	if err := errors.Join(l.Observe(ended, 0), l.Observe(nil, 10*keys)); err != nil {
		t.Fatal(err)
	}
	l.Finish()
	return l
}

// TestReadBackRate: over several connections, too, keys are read at most at a rate, and time lost
// to slow reads is not made up for.
func TestReadBackRate(t *testing.T) {
	for _, conns := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			l := wroteKeys(t, 40)
			s := &slow{takes: time.Millisecond, longer: 700 * time.Millisecond, longerFrom: 38}
			list := make([]database.Client, conns)
			for n := range list {
				list[n] = s
			}
			held, err := l.ReadBack(t.Context(), list, Back{Mode: workload.ReadLinearizable, Rate: 20})
			if err != nil || held.Read != 40 || held.Gone != 40 {
				t.Errorf("the keys are %+v, %v, want 40 read", held, err)
			}
			for n := 1; n < len(s.at); n++ {
				if space := s.at[n].Sub(s.at[n-1]); space < 50*time.Millisecond {
					t.Errorf("%d connections: reads %d and %d are %v apart, want 50 ms or more", conns, n, n+1, space)
				}
			}
			if took := s.at[36].Sub(s.at[0]); took != 36*50*time.Millisecond {
				t.Errorf("%d connections: 37 reads took %v, want 1.8 s", conns, took)
			}
		})
	}
}

// TestReadBackGuard: a read that takes longer than the bound, or that fails, is the last one.
func TestReadBackGuard(t *testing.T) {
	for want, s := range map[string]*slow{
		"a read took 30ms, the bound is 20ms":  {takes: time.Millisecond, longer: 30 * time.Millisecond, longerFrom: 4},
		"read back key 196: throttled: busy":   {takes: time.Millisecond, failsFrom: 4},
		"not all were read within 10s, at mos": {takes: 20 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := wroteKeys(t, 200)
			dial := func(context.Context, int) ([]database.Client, error) { return []database.Client{s}, nil }
			r := l.End(t.Context(), Back{Mode: workload.ReadLinearizable, Connections: 1, Within: 10 * time.Second, Rate: 10, Longest: 20 * time.Millisecond}, dial)
			if !strings.Contains(r.NotRead, want) || s.longerFrom+s.failsFrom > 0 && s.reads != 4 {
				t.Errorf("after %d reads it ended with %q, want %q", s.reads, r.NotRead, want)
			}
			if r.Held == nil || r.Held.Keys != 200 || r.Held.Read < 3 || r.Held.Read > 101 {
				t.Errorf("the keys are %+v", r.Held)
			}
		})
	}
}

// deaf is a store that answers some reads; the others last until their context ends, or fail
// after a second at their own deadline.
type deaf struct {
	store
	answers int
	own     bool
}

func (d *deaf) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	if d.answers > 0 {
		d.answers--
		return d.store.Get(ctx, key, mode)
	}
	if d.own {
		time.Sleep(time.Second)
		return nil, database.NotApplied(database.ClassTimeout, context.DeadlineExceeded)
	}
	<-ctx.Done()
	return nil, database.NotApplied(database.ClassCancelled, ctx.Err())
}

// TestReadBackCut: when reads end early, the reason is what ended them, and not the error from an
// ended read.
func TestReadBackCut(t *testing.T) {
	interrupted := errors.New("interrupted")
	for want, c := range map[string]struct {
		store     *deaf
		interrupt time.Duration
	}{
		"interrupted":                     {&deaf{answers: 3}, 2 * time.Second},
		"not all were read within 10s":    {&deaf{answers: 3}, time.Hour},
		"read back key 6: time-out: cont": {&deaf{answers: 3, own: true}, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			time.AfterFunc(c.interrupt, func() { cancel(interrupted) })
			dial := func(context.Context, int) ([]database.Client, error) { return []database.Client{c.store}, nil }
			r := wroteKeys(t, 10).End(ctx, Back{Mode: workload.ReadLinearizable, Connections: 1, Within: 10 * time.Second}, dial)
			if !strings.HasPrefix(r.NotRead, want) || r.Held == nil || r.Held.Read != 3 {
				t.Errorf("of the keys, %+v, not all were read: %q, want %q", r.Held, r.NotRead, want)
			}
		})
	}
}
