package control

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

const (
	// leaderEvery is how often the members are asked who leads. Who shows a password
	// asks less often: a member may take a tenth of a second of a processor to check
	// one, on purpose.
	leaderEvery           = time.Second
	leaderEveryByPassword = 10 * time.Second
	// leaderTimeout bounds one question: a member that stands still does not answer.
	leaderTimeout = 2 * time.Second
)

// leaderWatch notes who leads while a load runs.
type leaderWatch struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	// found is the member that was last found to lead.
	found atomic.Int64
}

// watchLeader asks who leads again and again, beside the heartbeats, until
// unwatchLeader.
func (c *conductor) watchLeader(ctx context.Context) error {
	driver, ok := c.driver.(database.Leader)
	if !ok || c.mute {
		return nil // nobody knows
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.leader = &leaderWatch{cancel: cancel}
	c.leader.found.Store(int64(c.run.Leader))
	every := leaderEvery
	if a := c.target.Auth; a != nil && a.Password != "" {
		every = leaderEveryByPassword
	}
	c.leader.wg.Go(func() { c.followLeader(own, driver, every) })
	return nil
}

func (c *conductor) unwatchLeader(context.Context) error {
	if c.leader != nil {
		c.leader.cancel()
		c.leader.wg.Wait()
	}
	return nil
}

// followLeader records every change of leader until ctx ends. No answer, as while
// members elect one, is none.
func (c *conductor) followLeader(ctx context.Context, driver database.Leader, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, err := askLeader(ctx, driver, c.target)
		if before := int(c.leader.found.Load()); err == nil && now != before {
			c.leader.found.Store(int64(now))
			c.event(results.EventLeader, now, "")
			c.say("member %d leads, after member %d", now+1, before+1)
		}
	}
}

func askLeader(ctx context.Context, driver database.Leader, target database.Target) (int, error) {
	ctx, cancel := within(ctx, leaderTimeout)
	defer cancel()
	return driver.Leader(ctx, target)
}

// noteLeader records who leads now: the members were first asked before keys were
// written, which may have been long ago. No load may run.
func (c *conductor) noteLeader() {
	if c.leader != nil {
		c.run.Leader = int(c.leader.found.Load())
	}
}
