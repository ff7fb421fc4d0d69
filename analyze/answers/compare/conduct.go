package compare

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// Check fails if the pair counts are impossible.
func (s *Session) Check() error {
	if s.Budget.Time != 0 {
		return s.Budget.check(s.deciding())
	}
	switch {
	case s.Pairs < block || s.Pairs%block != 0:
		return fmt.Errorf("pairs must be an even number of at least %d, got %d", block, s.Pairs)
	case s.Until < s.Pairs || s.Until%block != 0:
		return fmt.Errorf("until must be an even number of at least the %d pairs, got %d", s.Pairs, s.Until)
	case s.Until > mostPairs:
		return fmt.Errorf("at most %d pairs can be made, and %d more to confirm, got %d", mostPairs, block, s.Until)
	}
	return nil
}

// Conduct makes runs until there is a verdict or Until pairs exist, plus a block that confirms the
// verdict worse. It stops early if a run is invalid or the sides cannot be compared. The runs stay
// on disk after an error.
func (s *Session) Conduct(ctx context.Context) (*Report, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	s.begin()
	o := s.Options
	o.turns = true
	report, err := s.add(ctx, &o, block)
	if err != nil || len(report.Invalid) > 0 {
		return report, err
	}
	s.replan(report)
	o.Looks = s.looks()
	report, err = s.add(ctx, &o, s.Pairs-block)
	for err == nil && report.Word() == string(abtest.Inconclusive) && len(o.A) < s.Until {
		s.Say(report.Sentence())
		report, err = s.add(ctx, &o, block)
	}
	if err == nil && report.Word() == string(abtest.Worse) {
		s.Say(report.Sentence() + " One more block will confirm or refute that.")
		o.Block = block
		report, err = s.add(ctx, &o, block)
	}
	if err == nil && len(report.Invalid) == 0 && !report.Interleaved {
		err = errors.New("the runs alternated, but their times do not show it: was the clock changed in between?")
	}
	return report, err
}

// order returns which side goes first and second in a pair, counted from 1. Blocks are balanced: A
// B B A or B A A B, drawn at random per block. With a fixed order, a disturbance that recurs once
// per block would always hit the same side.
func (s *Session) order(pair int) []string {
	n := (pair - 1) / block
	aFirst := rand.New(rand.NewPCG(s.Seed, uint64(n))).IntN(2) == 0
	if (pair-1)%block != 0 {
		aFirst = !aFirst
	}
	if aFirst {
		return []string{"A", "B"}
	}
	return []string{"B", "A"}
}

// add makes n more pairs and compares. It checks after each pair, so an invalid or senseless
// session ends with the pair that shows it. An invalid report covers all pairs.
func (s *Session) add(ctx context.Context, o *Options, n int) (report *Report, err error) {
	for range n {
		pair := len(o.A) + 1
		for _, side := range s.order(pair) {
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
		last.Looks, last.Block = nil, 0
		if report, err = Run(ctx, last); err != nil {
			return nil, err
		}
		if len(report.Invalid) > 0 {
			all := *o
			all.Block = 0 // the block may be incomplete
			return Run(ctx, all)
		}
	}
	return Run(ctx, *o)
}
