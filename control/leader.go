package control

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coreos/dbtester/control/fleet/remote"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

const (
	// leaderEvery is the interval between requests for the leader. A request does not wait for the
	// previous answer, so a paused member delays no request.
	leaderEvery = 500 * time.Millisecond
	// leaderTimeout bounds one request. A busy member may take long.
	leaderTimeout = 2 * time.Second
)

// leaderWatch is the activity that records every leader change.
type leaderWatch struct {
	run *run
	// driver asks the members of target; nil if it cannot, or if they do not report a leader.
	driver database.Leader
	target database.Target

	mu sync.Mutex
	// found is the leader reported by the latest answered request, and question the number of that
	// request.
	found    int
	question int
}

func (w *leaderWatch) Name() string { return "watch the leader" }

func (w *leaderWatch) Prepare(context.Context) error {
	_, asked, target := w.run.asked()
	if driver, ok := asked.(database.Leader); ok && !w.run.mute {
		w.driver, w.target = driver, target
		w.found = w.run.record.Leader
	}
	return nil
}

// Run asks for the leader again and again. Errors (for example during an election)
// are ignored.
func (w *leaderWatch) Run(ctx context.Context) error {
	if w.driver == nil {
		return nil
	}
	ask, stop, err := w.open()
	if err != nil {
		return err
	}
	var asking sync.WaitGroup
	ticker := time.NewTicker(leaderEvery)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			asking.Wait()
			return stop()
		case <-ticker.C:
		}
		asking.Go(func() {
			if leader, err := askLeader(ctx, ask); err == nil {
				w.note(n, leader)
			}
		})
	}
}

// open returns functions that ask for the leader, and end the asking.
func (w *leaderWatch) open() (ask func(context.Context) (int, error), stop func() error, err error) {
	if watcher, ok := w.driver.(database.LeaderWatcher); ok {
		return watcher.WatchLeader(w.target)
	}
	ask = func(ctx context.Context) (int, error) { return w.driver.Leader(ctx, w.target) }
	return ask, func() error { return nil }, nil
}

// note records the leader found by request n, unless a later request was answered before.
func (w *leaderWatch) note(n, leader int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n < w.question {
		return
	}
	w.question = n
	if before := w.found; leader != before {
		w.found = leader
		w.run.journal.event(results.EventLeader, leader, "")
		w.run.journal.say("member %d leads, after member %d", leader+1, before+1)
	}
}

// recordFirst records the leader just before the load. The members were first asked before keys
// were written, which may take long.
func (w *leaderWatch) recordFirst() {
	if w.driver == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run.record.Leader = w.found
}

// leaderNow asks the members for the current leader.
func (r *run) leaderNow(ctx context.Context) (int, error) {
	_, asked, target := r.asked()
	driver, ok := asked.(database.Leader)
	if !ok || r.mute {
		return 0, errors.New("the members do not report who leads")
	}
	return askLeader(ctx, func(ctx context.Context) (int, error) { return driver.Leader(ctx, target) })
}

func askLeader(ctx context.Context, ask func(context.Context) (int, error)) (int, error) {
	ctx, cancel := remote.Within(ctx, leaderTimeout)
	defer cancel()
	return ask(ctx)
}
