package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coreos/dbtester/pkg/abtest"
)

// block is the number of pairs that are made at a time, A B B A, and that confirm a
// verdict of worse.
const block = 2

// Session makes the runs of a comparison in turns, so that they are pairs.
type Session struct {
	Options // without folders
	// Pairs are made first, and blocks of two more while the result is inconclusive, up
	// to Until. Both are even; Until is at least Pairs.
	Pairs, Until int
	// Budget plans Pairs in their place.
	Budget Budget
	// Make makes one run of a side, "A" or "B", and returns its result folder. It is
	// called for one run at a time.
	Make func(ctx context.Context, side string) (folder string, err error)
	// Say is given what the session does next, in a few words.
	Say func(text string)
}

// Check returns an error if the numbers of pairs cannot be.
func (s *Session) Check() error {
	if s.Budget.Time != 0 {
		return s.Budget.check(len(s.Metrics))
	}
	switch {
	case s.Pairs < block || s.Pairs%block != 0:
		return fmt.Errorf("pairs must be an even number of at least %d, got %d", block, s.Pairs)
	case s.Until < s.Pairs || s.Until%block != 0:
		return fmt.Errorf("until must be an even number of at least the %d pairs, got %d", s.Pairs, s.Until)
	}
	return nil
}

// Conduct makes runs until there is a verdict or Until pairs were made, and a block that
// confirms a verdict of worse. It stops early if a run is not valid or if the sides
// cannot be compared. The runs are on disk also after an error.
func (s *Session) Conduct(ctx context.Context) (*Report, error) {
	s.begin()
	o := s.Options
	report, err := s.add(ctx, &o, block)
	if err != nil || len(report.Invalid) > 0 {
		return report, err
	}
	s.replan(report)
	if s.Until > s.Pairs {
		for n := s.Pairs; n <= s.Until; n += block {
			o.Looks = append(o.Looks, n)
		}
	}
	report, err = s.add(ctx, &o, s.Pairs-block)
	for err == nil && report.Word() == string(abtest.Inconclusive) && len(o.A) < s.Until {
		s.Say(report.Sentence())
		report, err = s.add(ctx, &o, block)
	}
	if err == nil && report.Word() == string(abtest.Worse) {
		s.Say(report.Sentence() + " One more block confirms that or not.")
		o.Block = block
		report, err = s.add(ctx, &o, block)
	}
	if err == nil && len(report.Invalid) == 0 && !report.Interleaved {
		err = errors.New("the runs were made in turns, but their times do not show it: was the clock set meanwhile?")
	}
	return report, err
}

// add makes n more pairs and compares. It looks at each pair, so that invalid and
// senseless sessions end with the pair that shows it.
func (s *Session) add(ctx context.Context, o *Options, n int) (report *Report, err error) {
	for range n {
		pair := len(o.A) + 1
		order := []string{"A", "B"}
		if pair%2 == 0 {
			order = []string{"B", "A"}
		}
		for _, side := range order {
			s.Say(fmt.Sprintf("pair %d, side %s", pair, side))
			folder, err := s.Make(ctx, side)
			if err != nil {
				return nil, fmt.Errorf("make a run of %s: %w", side, err)
			}
			if side == "A" {
				o.A = append(o.A, folder)
			} else {
				o.B = append(o.B, folder)
			}
		}
		last := *o
		last.A, last.B = slices.Compact([]string{o.A[0], o.A[pair-1]}), o.B[pair-1:]
		if report, err = Run(ctx, last); err != nil || len(report.Invalid) > 0 {
			return report, err
		}
	}
	return Run(ctx, *o)
}
