package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// factory makes runs in memory, whose throughput follows a law.
type factory struct {
	order []string
	law   func(side string, n int) float64 // n counts the runs on a side from 0
	edit  func(side string, r *results.DatabaseRun)
	made  map[string]*run.Run // by folder
}

func (f *factory) make(_ context.Context, name string) (string, error) {
	n := 0
	for _, s := range f.order {
		if s == name {
			n++
		}
	}
	one := side(name, len(f.order), 0, f.law(name, n)).Runs[0]
	one.Folder = fmt.Sprint(name, n)
	one.Run.Info.Manifest.RunID = one.Folder
	if f.edit != nil {
		f.edit(name, one.Run.Info.Record)
	}
	if f.made == nil {
		f.made = map[string]*run.Run{}
	}
	f.made[one.Folder] = one.Run
	f.order = append(f.order, name)
	return one.Folder, nil
}

// session makes 6 pairs.
func session(f *factory) *Session {
	open := func(folder string) ([]*run.Run, error) { return []*run.Run{f.made[folder]}, nil }
	return &Session{Options: Options{Metrics: []string{"throughput"}, Margin: .03, open: open}, Pairs: 6, Until: 6, Make: f.make, Say: func(string) {}}
}

func TestSession(t *testing.T) {
	wobble := func(n int) float64 { return 1000 + 2*float64(n) }
	for _, tt := range []struct {
		name  string
		until int
		law   func(side string, n int) float64
		want  abtest.Verdict
		pairs int
	}{
		{"equal", 6, func(_ string, n int) float64 { return wobble(n) }, abtest.Equivalent, 6},
		{"worse and confirmed", 6, func(side string, n int) float64 { return wobble(n) - 80*float64(strings.Count(side, "B")) }, abtest.Worse, 8},
		{"worse until the block", 6, func(side string, n int) float64 {
			if side == "B" && n < 6 {
				return wobble(n) - 80
			}
			return wobble(n)
		}, abtest.Inconclusive, 8},
		{"never decided", 8, func(side string, n int) float64 {
			if side == "B" {
				return 1000 + 200*float64(1-2*(n%2))
			}
			return 1000
		}, abtest.Inconclusive, 8},
	} {
		f := &factory{law: tt.law}
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
			if four := strings.Join(f.order[i:i+4], ""); four != "ABBA" && four != "BAAB" {
				t.Errorf("%s: the order is %q, want blocks of A B B A or B A A B", tt.name, f.order)
			}
		}
	}
}

// TestOrder: the seed decides which side begins a block, about as often either.
func TestOrder(t *testing.T) {
	first := func(seed uint64) (a string) {
		s := &Session{Seed: seed}
		for n := range 28 {
			a += s.order(1 + n*block)[0]
		}
		return a
	}
	if one, again, other := first(1), first(1), first(2); one != again || one == other {
		t.Errorf("seed 1 begins blocks with %s and %s, seed 2 with %s; want the same and another", one, again, other)
	}
	if n := strings.Count(first(1), "A"); n < 7 || n > 21 {
		t.Errorf("%d of 28 blocks begin with A, want about half", n)
	}
}

// TestSessionStops: a session that has no meaning or is not valid ends with the pair
// that shows it, and one whose run fails with that error.
func TestSessionStops(t *testing.T) {
	same := func(string, int) float64 { return 1000 }
	f := &factory{law: same, edit: func(side string, r *results.DatabaseRun) {
		r.Load.ValueSize = len(side + strings.Repeat("B", int(side[0]-'A')))
	}}
	_, err := session(f).Conduct(t.Context())
	if refusal := (*Refusal)(nil); !errors.As(err, &refusal) || len(f.order) != 2 {
		t.Errorf("loads that differ: %v after %d runs, want a refusal after 2", err, len(f.order))
	}
	f = &factory{law: same, edit: func(_ string, r *results.DatabaseRun) {
		r.Validity = []results.Mark{{Code: "server lost", Invalid: true}}
	}}
	r, err := session(f).Conduct(t.Context())
	if err != nil || r.Word() != Invalid || len(f.order) != 2 {
		t.Fatalf("an invalid run: %v after %d runs, want an invalid report after 2", err, len(f.order))
	}
	if text := r.Text(); strings.Contains(text, "not interleaved") {
		t.Errorf("one pair that was made in turns:\n%s", text)
	}
	late := &factory{law: same}
	late.edit = func(_ string, r *results.DatabaseRun) {
		if len(late.order) == 5 {
			r.Validity = []results.Mark{{Code: "server lost", Invalid: true}}
		}
	}
	r, err = session(late).Conduct(t.Context())
	if err != nil || r.Word() != Invalid || len(r.A.Runs) != 3 || len(r.B.Runs) != 3 || !r.Interleaved || strings.Contains(r.Text(), "not interleaved") {
		t.Errorf("an invalid run of the third pair: %v\n%s\nwant the three pairs", err, r.Text())
	}
	s := session(f)
	s.Make = func(context.Context, string) (string, error) { return "", context.Canceled }
	if _, err := s.Conduct(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that fails: %v, want its error", err)
	}
	for _, bad := range [][2]int{{0, 0}, {3, 4}, {8, 6}, {8, 9}, {60, 60}, {8, 60}} {
		if s.Pairs, s.Until = bad[0], bad[1]; s.Check() == nil {
			t.Errorf("%d pairs until %d are accepted", bad[0], bad[1])
		}
	}
}
