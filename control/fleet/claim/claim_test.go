package claim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// agents are held by runs; 0 means no run. Calls take up to 20 ms.
type agents struct {
	mu    sync.Mutex
	dice  *rand.Rand
	owner []int
}

// call makes an agent call take its time, and runs do in its middle.
func (a *agents) call(do func() error) error {
	half := func() {
		a.mu.Lock()
		d := time.Duration(a.dice.IntN(10_000)) * time.Microsecond
		a.mu.Unlock()
		time.Sleep(d)
	}
	half()
	a.mu.Lock()
	err := do()
	a.mu.Unlock()
	half()
	return err
}

func (a *agents) take(run, agent int) error {
	return a.call(func() error {
		if other := a.owner[agent]; other != 0 && other != run {
			return &HeldError{fmt.Errorf("agent %d belongs to run %d", agent, other)}
		}
		a.owner[agent] = run
		return nil
	})
}

func (a *agents) giveBack(run, agent int) error {
	return a.call(func() error {
		if other := a.owner[agent]; other != run && other != 0 {
			return fmt.Errorf("agent %d belongs to run %d and not to %d", agent, other, run)
		}
		a.owner[agent] = 0
		return nil
	})
}

// Runs want some of twelve agents each. At least one run gets all that it wants while the others
// are refused, and in the end no refused run holds an agent.
func TestSomeRunWins(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1))
			a := &agents{dice: rand.New(rand.NewPCG(seed, 2)), owner: make([]int, 12)}
			wants := make([][]int, 2+dice.IntN(4))
			for run := range wants {
				wants[run] = dice.Perm(len(a.owner))[:1+dice.IntN(len(a.owner))]
				slices.Sort(wants[run])
			}
			won := make([]bool, len(wants))
			var group sync.WaitGroup
			for i, want := range wants {
				run := i + 1
				group.Go(func() {
					var mu sync.Mutex
					had := map[int]bool{}
					take := func(agent int) error {
						err := a.take(run, agent)
						mu.Lock()
						had[agent] = err == nil
						mu.Unlock()
						return err
					}
					giveBack := func(agent int) error {
						mu.Lock()
						had[agent] = false
						mu.Unlock()
						return a.giveBack(run, agent)
					}
					err := All(t.Context(), want, take, giveBack)
					won[i] = err == nil
					if err == nil {
						return
					}
					if !held(err) {
						t.Errorf("seed %d: run %d ends with %v, want that another run holds an agent", seed, run, err)
					}
					if err := Back(slices.DeleteFunc(want, func(agent int) bool { return !had[agent] }), giveBack); err != nil {
						t.Errorf("seed %d: run %d gives back: %v", seed, run, err)
					}
				})
			}
			group.Wait()
			if !slices.Contains(won, true) {
				t.Fatalf("seed %d: no run got all that it wants of %v", seed, wants)
			}
			for i, want := range wants {
				for _, agent := range want {
					if owns := a.owner[agent] == i+1; owns != won[i] {
						t.Errorf("seed %d: run %d won: %v, and holds agent %d: %v", seed, i+1, won[i], agent, owns)
					}
				}
			}
		})
	}
}

// A run that wants the same agents as another, which holds them all, is refused by the lowest
// agent, at once.
func TestSameAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &agents{dice: rand.New(rand.NewPCG(1, 2)), owner: make([]int, 4)}
		list := []int{0, 1, 2, 3}
		if err := All(t.Context(), list, func(n int) error { return a.take(1, n) }, nil); err != nil {
			t.Fatalf("claim free agents: %v", err)
		}
		calls := 0
		err := All(t.Context(), list, func(n int) error {
			calls++
			return a.take(2, n)
		}, nil)
		if !held(err) || calls != 1 {
			t.Errorf("a second run ends with %v after %d calls, want a refusal by the first call", err, calls)
		}
	})
}

// All but the lowest agent are called at once, both to claim and to give back.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // which fails tests that block for ever
		list := make([]int, 100)
		for i := range list {
			list[i] = i
		}
		var all sync.WaitGroup
		together := func(n int) error {
			if n > 0 {
				all.Done()
				all.Wait()
			}
			return nil
		}
		all.Add(len(list) - 1)
		if err := All(t.Context(), list, together, nil); err != nil {
			t.Error(err)
		}
		all.Add(len(list) - 1)
		if err := Back(list, together); err != nil {
			t.Error(err)
		}
	})
}

// Errors besides the hold of another run end the claim, and so does the context when it ends while
// a run waits.
func TestOtherErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	busy := &HeldError{errors.New("another run has it")}
	giveBack := func(int) error { return nil }
	take := func(n int) error { return []error{nil, busy, nil, broken}[n] }
	if err := All(t.Context(), []int{0, 1, 2, 3}, take, giveBack); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	stuck := func(int) error { return broken }
	if err := All(t.Context(), []int{0, 1, 2}, func(n int) error { return []error{nil, busy, nil}[n] }, stuck); !errors.Is(err, broken) || !held(err) {
		t.Errorf("error %v, want why an agent was not given back too", err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(firstPause/2, func() { cancel(broken) })
		if err := All(ctx, []int{0, 1}, take, giveBack); !errors.Is(err, broken) || !held(err) {
			t.Errorf("error %v, want the cause of the context and the refusal", err)
		}
	})
	if err := All(t.Context(), nil, take, giveBack); err != nil {
		t.Errorf("claim of no agents: %v", err)
	}
	if err := Back(nil, giveBack); err != nil {
		t.Errorf("give back no agents: %v", err)
	}
}
