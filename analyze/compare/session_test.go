package compare

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/abtest"
	"github.com/coreos/dbtester/pkg/results"
)

// factory makes runs whose p50 follows a law.
type factory struct {
	t     *testing.T
	order []string
	p50   func(side string, n int) time.Duration // n counts the runs of a side from 0
	edit  func(side string, r *results.DatabaseRun)
}

func (f *factory) make(_ context.Context, side string) (string, error) {
	n := 0
	for _, s := range f.order {
		if s == side {
			n++
		}
	}
	x := runtest.NewFixture(f.t, filepath.Join(f.t.TempDir(), fmt.Sprint(side, n)))
	x.Alike, x.M.RunID = true, fmt.Sprint(side, n)
	r := x.Database("etcd-v3.6", f.p50(side, n))
	r.LoadStart = r.LoadStart.Add(time.Duration(len(f.order)) * time.Minute) // only its order counts here
	if f.edit != nil {
		f.edit(side, r)
	}
	f.order = append(f.order, side)
	return x.Write(), nil
}

// session makes 6 pairs of the median of latencies, and up to 8.
func session(f *factory) *Session {
	return &Session{Options: Options{Metrics: []string{"p50"}, Margin: .03}, Pairs: 6, Until: 6, Make: f.make, Say: func(string) {}}
}

func TestSession(t *testing.T) {
	const ms = time.Millisecond
	wobble := func(n int) time.Duration { return time.Duration(n) * 10 * time.Microsecond }
	for _, tt := range []struct {
		name  string
		until int
		p50   func(side string, n int) time.Duration
		want  abtest.Verdict
		pairs int
	}{
		{"equal", 6, func(_ string, n int) time.Duration { return 20*ms + wobble(n) }, abtest.Equivalent, 6},
		{"worse and confirmed", 6, func(side string, n int) time.Duration {
			return 20*ms + wobble(n) + ms*time.Duration(3*strings.Count(side, "B"))
		}, abtest.Worse, 8},
		{"worse until the block", 6, func(side string, n int) time.Duration {
			if side == "B" && n < 6 {
				return 23*ms + wobble(n)
			}
			return 20*ms + wobble(n)
		}, abtest.Inconclusive, 8},
		{"never decided", 8, func(side string, n int) time.Duration {
			if side == "B" {
				return 20*ms + 5*ms*time.Duration(1-2*(n%2))
			}
			return 20 * ms
		}, abtest.Inconclusive, 8},
	} {
		f := &factory{t: t, p50: tt.p50}
		s := session(f)
		s.Until = tt.until
		r, err := s.Conduct(t.Context())
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if r.Verdict != tt.want || len(r.A.Runs) != tt.pairs || !r.Interleaved {
			t.Errorf("%s: %s after %d pairs, interleaved %v; want %s after %d\n%s", tt.name, r.Verdict, len(r.A.Runs), r.Interleaved, tt.want, tt.pairs, r.Text())
		}
		for i := 0; i+4 <= len(f.order); i += 4 {
			if !slices.Equal(f.order[i:i+4], []string{"A", "B", "B", "A"}) {
				t.Errorf("%s: the order is %q, want blocks of A B B A", tt.name, f.order)
			}
		}
	}
}

// TestSessionStops: a session that has no meaning or is not valid ends with the pair
// that shows it, and one whose run fails with that error.
func TestSessionStops(t *testing.T) {
	same := func(string, int) time.Duration { return time.Millisecond }
	f := &factory{t: t, p50: same, edit: func(side string, r *results.DatabaseRun) {
		r.Load.ValueSize = len(side + strings.Repeat("B", int(side[0]-'A')))
	}}
	_, err := session(f).Conduct(t.Context())
	if refusal := (*Refusal)(nil); !errors.As(err, &refusal) || len(f.order) != 2 {
		t.Errorf("loads that differ: %v after %d runs, want a refusal after 2", err, len(f.order))
	}
	f = &factory{t: t, p50: same, edit: func(_ string, r *results.DatabaseRun) {
		r.Validity = []results.Mark{{Code: "server lost", Invalid: true}}
	}}
	if r, err := session(f).Conduct(t.Context()); err != nil || r.Word() != Invalid || len(f.order) != 2 {
		t.Errorf("an invalid run: %v after %d runs, want an invalid report after 2", err, len(f.order))
	}
	s := session(f)
	s.Make = func(context.Context, string) (string, error) { return "", context.Canceled }
	if _, err := s.Conduct(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that fails: %v, want its error", err)
	}
	for _, bad := range [][2]int{{0, 0}, {3, 4}, {8, 6}, {8, 9}} {
		if s.Pairs, s.Until = bad[0], bad[1]; s.Check() == nil {
			t.Errorf("%d pairs until %d are accepted", bad[0], bad[1])
		}
	}
}
