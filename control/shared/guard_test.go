package shared

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
)

func TestGuard(t *testing.T) {
	percent := func(p workload.Percent) *workload.Percent { return &p }
	for _, tc := range []struct {
		name    string
		limits  config.Guard
		seconds []load.Progress
		want    string // part of the reason, after the last second and not before
	}{
		{"below p99", config.Guard{P99: time.Second}, []load.Progress{{Ended: 10, P99: time.Second}}, ""},
		{"above p99", config.Guard{P99: time.Second}, []load.Progress{{Ended: 10, P99: 999 * time.Millisecond}, {Ended: 10, P99: time.Second + 1}}, "p99 was 1s"},
		{"silence", config.Guard{P99: 100 * time.Millisecond}, []load.Progress{{InFlight: 1}, {InFlight: 1}}, "no request was answered for 1s"},
		{"short silences", config.Guard{P99: 1500 * time.Millisecond},
			[]load.Progress{{InFlight: 1}, {InFlight: 1}, {InFlight: 1, Ended: 1}, {InFlight: 1}}, ""},
		{"a long silence", config.Guard{P99: 1500 * time.Millisecond}, []load.Progress{{InFlight: 1}, {InFlight: 1}, {InFlight: 1}}, "for 2s"},
		{"nothing to answer", config.Guard{P99: 100 * time.Millisecond}, []load.Progress{{}, {}, {InFlight: 1}}, ""},
		{"few errors", config.Guard{Errors: percent(1)}, []load.Progress{{Ended: 1000, Faulty: 10, Errors: 900}}, ""},
		{"many errors", config.Guard{Errors: percent(1)}, []load.Progress{{Ended: 1000, Faulty: 11}}, "11 of the 1000 requests"},
		{"any error", config.Guard{Errors: percent(0)}, []load.Progress{{Ended: 1000}, {Ended: 1000, Faulty: 1}}, "1 of the 1000"},
		{"no bound", config.Guard{}, []load.Progress{{Ended: 1, Faulty: 1, P99: time.Hour}}, ""},
	} {
		trips := 0
		g := NewGuard(&tc.limits, func(string) { trips++ })
		for i, p := range tc.seconds {
			if g.Reason() != "" {
				t.Errorf("%s: the guard trips before second %d: %s", tc.name, i, g.Reason())
			}
			g.See(p)
		}
		if g.Reason() != "" {
			g.See(tc.seconds[len(tc.seconds)-1]) // once is enough
		}
		if got := g.Reason(); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) || trips > 1 {
			t.Errorf("%s: the reason is %q in %d trips, want %q", tc.name, got, trips, tc.want)
		}
	}
	var none *Guard
	none.See(load.Progress{})
	if NewGuard(nil, nil) != nil || none.Reason() != "" {
		t.Error("a guard without limits must be nil")
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
			g := NewGuard(&config.Guard{DBSize: &half}, func(string) { tripped = time.Since(began); cancel() })
			call := 0
			g.WatchSize(ctx, func(context.Context) (int64, int64, error) { call++; return tc.size(call) })
			if !strings.Contains(g.Reason(), tc.want) || tripped != tc.trip {
				t.Errorf("%s: after %v %q, want %q after %v", tc.name, tripped, g.Reason(), tc.want, tc.trip)
			}
		})
	}
}
