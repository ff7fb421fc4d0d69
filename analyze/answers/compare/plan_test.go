package compare

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/stats/abtest"
)

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		budget, pair time.Duration
		want         int
	}{
		{20 * time.Minute, time.Minute, 18},
		{20 * time.Minute, 3 * time.Minute, 4}, // out of six
		{20 * time.Minute, 4 * time.Minute, 2}, // out of five
		{5 * time.Minute, 3 * time.Minute, 0},
		{24 * time.Hour, time.Second, mostPairs},
	} {
		if got := Fit(tt.budget, tt.pair); got != tt.want {
			t.Errorf("%d pairs of %v fit into %v, want %d", got, tt.pair, tt.budget, tt.want)
		}
	}
	if one, two := least(1), least(2); one != 6 || two != 8 {
		t.Errorf("at least %d pairs with one metric and %d with two, want 6 and 8", one, two)
	}
}

// TestBudget: the pairs are planned before the first run, and again from the time that
// the first block took. The change that they can find is stated at both times.
func TestBudget(t *testing.T) {
	for _, tt := range []struct {
		name            string
		known, takes    time.Duration
		pairs           int
		planned, stated string
	}{
		{"as known", 2 * time.Minute, 2 * time.Minute, 12, "12 pairs of about 2m0s each", "12 pairs show a change of"},
		{"slower", 2 * time.Minute, 3 * time.Minute, 8, "12 pairs of about 2m0s each", "A pair takes 3m0s: 8 pairs"},
		{"not known", 0, 3 * time.Minute, 8, "The first 2 pairs will show how many fit into 30m0s.", "A pair takes 3m0s: 8 pairs"},
		{"much slower", 2 * time.Minute, 6 * time.Minute, 2, "12 pairs of", "2 pairs cannot show a difference of any size: 6 are needed, about 48m0s."},
	} {
		f := &factory{law: func(side string, n int) float64 { return 1000 + 3*float64(n*len(side)) + float64(side[0]*side[0]%7) }}
		s := session(f)
		var said []string
		s.Say = func(text string) { said = append(said, text) }
		elapsed := 10 * time.Minute // for builds
		s.Make = func(ctx context.Context, side string) (string, error) {
			elapsed += tt.takes / 2
			return f.make(ctx, side)
		}
		s.Pairs, s.Until = 0, 0
		s.Budget = Budget{Time: 30 * time.Minute, Pair: tt.known, Elapsed: func() time.Duration { return elapsed }}
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		r, err := s.Conduct(t.Context())
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		pairs := len(r.A.Runs)
		if r.Verdict == abtest.Worse || strings.Contains(r.Text(), "did not confirm") {
			pairs -= block
		}
		if all := strings.Join(said, "\n"); pairs != tt.pairs || !strings.Contains(said[0], tt.planned) || !strings.Contains(all, tt.stated) {
			t.Errorf("%s: %d pairs, want %d with %q first and %q:\n%s", tt.name, pairs, tt.pairs, tt.planned, tt.stated, all)
		}
	}
}

// TestSmallBudget: a budget in which nothing can be found is refused.
func TestSmallBudget(t *testing.T) {
	s := session(&factory{})
	s.Budget = Budget{Time: 10 * time.Minute, Pair: 2 * time.Minute, Elapsed: func() time.Duration { return 0 }}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "budget must allow 6 pairs and 2 more to confirm, about 16m0s, got 10m0s") {
		t.Errorf("a budget for three pairs: %v, want a refusal", err)
	}
}

// TestReach: the plan finds the stated change, at the price of looking often.
func TestReach(t *testing.T) {
	for _, tt := range []struct {
		n, until int
		spread   float64
		metrics  int
		want     string
	}{
		{8, 8, .034, 1, "8 pairs show a change of 3.5 % with a chance of 80 % if their spread is 3.4 %, as assumed."},
		{8, 8, .02, 2, "8 pairs show a change of 2.3 % with"},
		{4, 4, .02, 1, "4 pairs cannot show a change of any size: at least 6 are needed."},
		{12, 12, .034, 1, "12 pairs show a change of 2.9 % with"},
		{8, 12, .034, 1, "Up to 12 pairs show a change of 3.1 % with"},
		{2, 4, .034, 1, "Up to 4 pairs cannot show a change of any size: at least 6 are needed."},
	} {
		s := &Session{Pairs: tt.n, Until: tt.until}
		if got := s.reach(tt.spread, tt.metrics, "as assumed"); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestDeciding: a metric decides once for each stage, however often it is named.
func TestDeciding(t *testing.T) {
	s := &Session{Options: Options{Metrics: []string{"p99", "throughput", "p99"}}}
	if n := s.deciding(); n != 2 {
		t.Errorf("%d metrics decide, want 2", n)
	}
	if s.Stages = 3; s.deciding() != 6 {
		t.Errorf("%d metrics of three stages decide, want 6", s.deciding())
	}
	s.Budget = Budget{Time: 18 * time.Minute, Pair: 2 * time.Minute, Elapsed: func() time.Duration { return 0 }}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "budget must allow 8 pairs") {
		t.Errorf("a budget for six pairs: %v, want a refusal", err)
	}
	s.Budget = Budget{Time: time.Hour}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "needs a clock") {
		t.Errorf("a budget without a clock: %v, want a refusal", err)
	}
}
