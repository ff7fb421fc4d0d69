package merge

import (
	"errors"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
)

// trace is a sink that writes the letter of its step for each second, and a bar after the last one.
// A second without rows has no letter.
type trace struct {
	text    string
	answers int64 // in ticks
}

func (x *trace) Second(s load.Second) error {
	if len(s.Intervals) > 0 {
		x.text += string("ab"[s.Intervals[0].Step])
	}
	if s.Last {
		x.text += "|"
	}
	for _, p := range s.Progress {
		x.answers += p.OK
	}
	return nil
}

func (x *trace) Total(load.Total) error { return nil }

// twoSteps returns records from a generator for two steps with these numbers of seconds. Each
// second has two ticks. The last tick in a step is shorter than in other generators.
func twoSteps(seconds ...int64) (list []event) {
	for step, n := range seconds {
		from := int64(100 * (step + 1))
		for sec := range n {
			s := made(step, from+sec, 0)
			s.Last = sec == n-1
			for half := range int64(2) {
				p := results.Progress{Step: step, Operation: "write", FromNS: sec*1e9 + half*5e8, OK: 1 + sec}
				if p.ToNS = p.FromNS + 5e8; s.Last && half == 1 {
					p.ToNS -= 1e8
				}
				s.Progress = append(s.Progress, p)
			}
			list = append(list, event{second: &s})
		}
		list = append(list, event{ended: true, start: time.Unix(from, 0), end: time.Unix(from+n, 0)})
	}
	return list
}

// TestOneLastSecond: whichever generators are lost, and whenever, each step has one second marked
// as its last. All others come before it, and no tick is left out.
func TestOneLastSecond(t *testing.T) {
	all := [][]event{twoSteps(2, 3), twoSteps(3, 1), twoSteps(1, 2)}
	valid := regexp.MustCompile(`^(a+\|)?(b+\|)?$`)
	seen := map[string]bool{}
	for seed := range uint64(5000) {
		draw := rand.New(rand.NewPCG(seed, 1))
		x := &trace{}
		m := writes(x, 0, "a", "b", "c")
		limit, at := make([]int, len(all)), make([]int, len(all)) // events from each, and those that came
		losses, want := 0, int64(0)
		for g, events := range all {
			if limit[g] = len(events); draw.IntN(3) > 0 { // one event more is the loss
				limit[g] = draw.IntN(len(events))
				losses++
			}
			for _, e := range events[:limit[g]] {
				if e.second != nil {
					want += 2 * e.second.Progress[0].OK
				}
			}
		}
		for {
			var ready []int
			for g, events := range all {
				if at[g] < limit[g] || at[g] == limit[g] && limit[g] < len(events) {
					ready = append(ready, g)
				}
			}
			if len(ready) == 0 {
				break
			}
			g := ready[draw.IntN(len(ready))]
			if at[g] == limit[g] {
				m.Part(g).Lost(errors.New("it was killed"))
			} else {
				must(t, play(m.Part(g), all[g][at[g]]))
			}
			at[g]++
		}
		if !valid.MatchString(x.text) || x.answers != want || len(m.pending)+len(m.open) > 0 || len(m.Losses()) != losses {
			t.Fatalf("order %d: of the first %v events, the seconds %q have %d answers in ticks, want one last second of each step and %d; %d seconds are left and %d of %d losses known",
				seed, limit, x.text, x.answers, want, len(m.pending), len(m.Losses()), losses)
		}
		seen[x.text] = true
	}
	for _, text := range []string{"", "a|", "aaa|bbb|", "aa|b|"} {
		if !seen[text] {
			t.Errorf("no order has the seconds %q: %v", text, slices.Sorted(maps.Keys(seen)))
		}
	}
}
