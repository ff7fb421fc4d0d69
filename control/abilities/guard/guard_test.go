package guard

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/guard"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

func TestGuard(t *testing.T) {
	percent := func(p workload.Percent) *workload.Percent { return &p }
	for _, tc := range []struct {
		name    string
		bounds  guard.Bounds
		seconds []load.Progress
		want    string // part of the reason, after the last second and not before
	}{
		{"below p99", guard.Bounds{P99: time.Second}, []load.Progress{{Ended: 10, P99: time.Second}}, ""},
		{"above p99", guard.Bounds{P99: time.Second}, []load.Progress{{Ended: 10, P99: 999 * time.Millisecond}, {Ended: 10, P99: time.Second + 1}}, "p99 was 1s"},
		{"silence", guard.Bounds{P99: 100 * time.Millisecond}, []load.Progress{{InFlight: 1}, {InFlight: 1}}, "no request was answered for 1s"},
		{"short silences", guard.Bounds{P99: 1500 * time.Millisecond},
			[]load.Progress{{InFlight: 1}, {InFlight: 1}, {InFlight: 1, Ended: 1}, {InFlight: 1}}, ""},
		{"a long silence", guard.Bounds{P99: 1500 * time.Millisecond}, []load.Progress{{InFlight: 1}, {InFlight: 1}, {InFlight: 1}}, "for 2s"},
		{"nothing to answer", guard.Bounds{P99: 100 * time.Millisecond}, []load.Progress{{}, {}, {InFlight: 1}}, ""},
		{"few errors", guard.Bounds{Errors: percent(1)}, []load.Progress{{Ended: 1000, Faulty: 10, Errors: 900}}, ""},
		{"many errors", guard.Bounds{Errors: percent(1)}, []load.Progress{{Ended: 1000, Faulty: 11}}, "11 of the 1000 requests"},
		{"any error", guard.Bounds{Errors: percent(0)}, []load.Progress{{Ended: 1000}, {Ended: 1000, Faulty: 1}}, "1 of the 1000"},
		{"no bound", guard.Bounds{}, []load.Progress{{Ended: 1, Faulty: 1, P99: time.Hour}}, ""},
	} {
		trips := 0
		g, marks := begin(tc.bounds, nil, func() { trips++ })
		if g.Bounded() != tc.bounds.Any() {
			t.Errorf("%s: bounded is %v", tc.name, g.Bounded())
		}
		for i, p := range tc.seconds {
			if g.reason != "" {
				t.Errorf("%s: the guard trips before second %d: %s", tc.name, i, g.reason)
			}
			g.See(p)
		}
		if g.reason != "" {
			g.See(tc.seconds[len(tc.seconds)-1]) // once is enough
		}
		passed := 0
		if tc.want != "" {
			passed = 1
		}
		if cause := g.Passed(); (cause != nil) != (tc.want != "") || !strings.Contains(g.reason, tc.want) || trips != passed || len(*marks) != passed {
			t.Errorf("%s: the reason is %q in %d trips with the marks %q, cause %v; want %q", tc.name, g.reason, trips, *marks, cause, tc.want)
		}
	}
}

// filler is a driver whose members report their size.
type filler struct {
	database.Driver
	fill func() (size, limit int64, err error)
}

func (f filler) Fill(context.Context, database.Target) (size, limit int64, err error) {
	return f.fill()
}

// begin returns a guard, and the marks of its run. end ends the load.
func begin(b guard.Bounds, driver database.Driver, end func()) (*Half, *[]string) {
	marks := &[]string{}
	h := New(&abilities.Run{
		DB: &config.Database{Abilities: guard.Keys().With(nil, b)}, Driver: driver, Target: &database.Target{},
		Event: func(results.Event) {}, Say: func(string, ...any) {},
		Mark: func(code string, _ mark.Values, _ mark.Words) { *marks = append(*marks, code) },
	})
	h.Bound(func(error) { end() })
	return h, marks
}

// TestLongest: requests after the load have the bound on p99, and only failures count without one.
func TestLongest(t *testing.T) {
	percent := workload.Percent(1)
	for _, c := range []struct {
		bounds guard.Bounds
		want   time.Duration
	}{
		{guard.Bounds{}, 0}, {guard.Bounds{DBSize: &percent}, 0}, {guard.Bounds{Errors: &percent}, math.MaxInt64},
		{guard.Bounds{P99: time.Second}, time.Second}, {guard.Bounds{P99: time.Second, Errors: &percent}, time.Second},
	} {
		if g, _ := begin(c.bounds, nil, func() {}); g.Longest() != c.want {
			t.Errorf("the bounds %+v allow %v, want %v", c.bounds, g.Longest(), c.want)
		}
	}
}

func TestGuardOfSize(t *testing.T) {
	half := workload.Percent(50)
	for _, tc := range []struct {
		name string
		size func(call int) (size, limit int64, err error)
		want string
		trip time.Duration
	}{
		{"a store that fills", func(call int) (int64, int64, error) { return int64(10 * call), 100, nil }, "60 of at most 100 bytes", 5 * time.Second},
		{"a store that does not answer", func(call int) (int64, int64, error) { return 0, 0, errors.New("refused") }, "not known", 31 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			began, tripped := time.Now(), time.Duration(0)
			call := 0
			fill := func() (int64, int64, error) { call++; return tc.size(call) }
			g, _ := begin(guard.Bounds{DBSize: &half}, filler{fill: fill}, func() { tripped = time.Since(began); cancel() })
			if err := g.Run(ctx); err != nil || !strings.Contains(g.reason, tc.want) || tripped != tc.trip {
				t.Errorf("%s: after %v %q, error %v, want %q after %v", tc.name, tripped, g.reason, err, tc.want, tc.trip)
			}
		})
	}
}
