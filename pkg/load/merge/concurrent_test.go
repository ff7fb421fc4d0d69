package merge

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// alone is a sink that fails if two goroutines call it at once.
type alone struct {
	*text
	t    *testing.T
	busy sync.Mutex
}

func (a *alone) call(do func() error) error {
	if !a.busy.TryLock() {
		a.t.Error("two goroutines call the sink")
		return nil
	}
	defer a.busy.Unlock()
	return do()
}

func (a *alone) Second(s load.Second) error {
	return a.call(func() error { return a.text.Second(s) })
}

func (a *alone) Total(t load.Total) error { return a.call(func() error { return a.text.Total(t) }) }

func (a *alone) Member(t load.MemberTotal) error {
	return a.call(func() error { return a.text.Member(t) })
}

// Generators that send at once make the same record as generators that send in turns.
func TestPartsAtOnce(t *testing.T) {
	slowtest.Skip(t)
	all := tapes(t, 3)
	want := newText()
	whole(t, merged(t, want, all, 0, -1, 0))
	for range 20 {
		got := newText()
		m := New(&alone{text: got, t: t}, Options{Operations: mixed().Operations(), Generators: make([]string, len(all))})
		var group sync.WaitGroup
		for g, p := range all {
			group.Go(func() {
				for i, e := range p.events {
					if err := play(m.Part(g), e); err != nil {
						t.Errorf("event %d of generator %d: %v", i, g, err)
					}
				}
			})
		}
		group.Wait()
		whole(t, m)
		if !slices.Equal(want.lines, got.lines) || !slices.Equal(want.ticks, got.ticks) {
			t.Fatalf("generators at once: %s", cmp.Diff(append(want.lines, want.ticks...), append(got.lines, got.ticks...)))
		}
	}
}

// However generators that send at once are lost, each step has one last second, no tick in a
// second that was taken is left out, and a loss names the last second taken.
func TestLossesAtOnce(t *testing.T) {
	slowtest.Skip(t)
	valid := regexp.MustCompile(`^(a+\|)?(b+\|)?$`)
	for seed := range uint64(2000) {
		draw := rand.New(rand.NewPCG(seed, 2))
		all := [][]event{twoSteps(2, 3), twoSteps(3, 1), twoSteps(1, 2), twoSteps(2, 2)}
		x := &trace{}
		m := writes(x, 0, "a", "b", "c", "d")
		var group sync.WaitGroup
		taken, answers := make([]moment, len(all)), make([]int64, len(all))
		lost := 0
		for g, events := range all {
			cut := len(events)
			if draw.IntN(3) > 0 {
				cut = draw.IntN(len(events))
				lost++
			}
			group.Go(func() {
				var killed sync.WaitGroup
				defer killed.Wait()
				for i, e := range events {
					if i == cut {
						killed.Go(func() { m.Part(g).Lost(errors.New("it was killed")) })
					}
					if err := play(m.Part(g), e); errors.Is(err, ErrLost) && i >= cut {
						return
					} else if err != nil {
						t.Errorf("event %d of generator %d: %v", i, g, err)
					}
					if e.second != nil {
						taken[g] = moment{e.second.Intervals[0].Step, e.second.Intervals[0].Second}
						answers[g] += 2 * e.second.Progress[0].OK
					}
				}
			})
		}
		group.Wait()
		want := int64(0)
		for _, n := range answers {
			want += n
		}
		if err := m.Err(); err != nil || !valid.MatchString(x.text) || x.answers != want || len(m.pending)+len(m.open) > 0 || len(m.Losses()) != lost {
			t.Fatalf("order %d: error %v, the seconds %q have %d answers in ticks, want one last second of each step and %d; %d seconds and %d steps are left and %d of %d losses known",
				seed, err, x.text, x.answers, want, len(m.pending), len(m.open), len(m.Losses()), lost)
		}
		for _, l := range m.Losses() {
			if got := (moment{l.Step, l.Second}); got != taken[l.Part] {
				t.Fatalf("order %d: generator %d was lost after %v, want %v", seed, l.Part, got, taken[l.Part])
			}
		}
	}
}

// blocked is a sink that takes the first second when it is allowed to.
type blocked struct {
	trace
	began, may chan struct{}
	once       sync.Once
}

func (b *blocked) Second(s load.Second) error {
	b.once.Do(func() { close(b.began); <-b.may })
	return b.trace.Second(s)
}

// A sink that is behind delays generators, and loses no generator.
func TestSinkIsBehind(t *testing.T) {
	x := &blocked{began: make(chan struct{}), may: make(chan struct{})}
	m := writes(x, 3, "a", "b", "c")
	both := func(sec int64) {
		var group sync.WaitGroup
		for _, p := range []*Part{m.Part(0), m.Part(1)} {
			group.Go(func() {
				if err := p.Second(made(0, sec, 3)); err != nil {
					t.Errorf("second %d: %v", sec, err)
				}
			})
		}
		group.Wait()
	}
	both(1)
	var writer sync.WaitGroup
	writer.Go(func() { m.Part(2).Lost(errors.New("it was killed")) }) // which writes the second
	<-x.began
	sent := make(chan struct{})
	go func() {
		for sec := int64(2); sec <= 6; sec++ {
			both(sec)
		}
		close(sent)
	}()
	select {
	case <-sent:
		t.Error("generators do not wait for a sink that is behind")
	case <-time.After(50 * time.Millisecond):
	}
	close(x.may)
	<-sent
	writer.Wait()
	if err := m.Err(); err != nil || len(m.Losses()) != 1 || x.text != "aaaaaa" || len(m.pending) > 0 {
		t.Errorf("error %v, losses %v, seconds %q and %d that wait, want 6 seconds and one loss", err, m.Losses(), x.text, len(m.pending))
	}
}
