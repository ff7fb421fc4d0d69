package etcd

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/coordination/service"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// Among twenty instances of a service some die and some are deployed: five consumers, spread over
// three members, learn about all changes, no instance lives that was declared dead, and the parts
// of each time add up. A prober with its own watch has seen the same deaths.
func TestServiceDiscovery(t *testing.T) {
	slowtest.Skip(t)
	c := databasetest.Start(t, databasetest.Suite{
		Database: Database(), Options: "{unsafe_no_fsync: true, log_level: error}", Addrs: []string{"127.0.2.66", "127.0.2.67", "127.0.2.68"},
	}, 3)
	driver := c.Driver().(*Options)
	facts := driver.SessionFacts()
	dial := func(ctx context.Context, n int) (database.Sessions, error) {
		target := c.Target()
		target.Prefer = n % len(target.Endpoints)
		return driver.DialSessions(ctx, target)
	}
	plan := discovery.Plan{
		Instances: 20, Consumers: 5, TTL: facts.Least, Keep: facts.Least / 4, Deaths: 5, Deploys: 5,
		After: time.Second, Within: 3 * time.Second,
	}
	s := service.New(service.Options{
		Dial: dial, Facts: facts, Plan: plan, Seed: 1, ValueSize: 16, Keys: "test", Workers: 8, Seen: func(string, time.Time, int64) {},
	})
	ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
	defer cancel()
	if err := errors.Join(s.Register(ctx), s.Follow(ctx)); err != nil {
		t.Fatal(err)
	}
	prober := probe(ctx, t, dial)
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	prober.await(ctx, t, plan.Deaths+plan.Deploys)
	s.End(ctx)
	o := s.Outcome()
	if o.Registered.Registered != plan.Instances || o.Watching != plan.Consumers || o.Left > 0 || o.BehindWhy != "" {
		t.Errorf("%d instances were registered (%s), %d consumers watched (%s), %d sessions are left (%s), %s",
			o.Registered.Registered, o.Why, o.Watching, o.BrokenWhy, o.Left, o.WhyLeft, o.BehindWhy)
	}
	// On a busy machine renewals may come too late: such ends are due to the client.
	if n := o.Counts; n.Early+n.Alive+n.Lost > 0 {
		t.Errorf("counts %+v, witnesses %+v; want none wrong", n, o.Witnesses)
	}
	if deaths, deploys := len(o.Of(discovery.Death)), len(o.Of(discovery.Deploy)); o.Missed+o.Unrenewed == 0 && (deaths != plan.Deaths || deploys != plan.Deploys) {
		t.Errorf("all knew %d deaths and %d deploys, want %d and %d: %+v", deaths, deploys, plan.Deaths, plan.Deploys, o.Changes)
	}
	for _, one := range o.Of(discovery.Death) {
		if sum := one.Left + one.Late + one.FanOut; sum != one.Whole {
			t.Errorf("the parts of %+v add up to %v", one, sum)
		}
		if one.Late < -5*time.Millisecond || one.Left > facts.Least || one.FanOut < 0 {
			t.Errorf("a session ended %v after its TTL, of which %v were left, and consumers were %v apart", one.Late, one.Left, one.FanOut)
		}
	}
}

// prober counts which keys end, by its own watch.
type prober struct {
	mu   sync.Mutex
	ends int
	more chan struct{}
}

// probe starts a prober that watches until the test ends.
func probe(ctx context.Context, t *testing.T, dial func(context.Context, int) (database.Sessions, error)) *prober {
	t.Helper()
	on, err := dial(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &prober{more: make(chan struct{}, 1)}
	watching, end := context.WithCancel(ctx)
	ready, over := make(chan struct{}), make(chan error, 1)
	go func() {
		over <- on.Watch(watching, func() { close(ready) }, func(c database.Change) {
			if c.New {
				return
			}
			p.mu.Lock()
			p.ends++
			p.mu.Unlock()
			select {
			case p.more <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		end()
		if err := errors.Join(<-over, on.Close()); err != nil {
			t.Errorf("probe: %v", err)
		}
	})
	<-ready
	return p
}

// await waits for n ends.
func (p *prober) await(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	for {
		p.mu.Lock()
		ends := p.ends
		p.mu.Unlock()
		if ends >= n {
			return
		}
		select {
		case <-p.more:
		case <-ctx.Done():
			t.Fatalf("the prober saw %d keys end, want %d", ends, n)
		}
	}
}
