package consul

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/coordination/service"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// Instances register as services at a server's agent: consumers learn about deaths and deploys, no
// instance is declared dead before its TTL, and no registration is left, not even for dead
// instances.
func TestRegistry(t *testing.T) {
	c := startOne(t, "{}")
	plan := discovery.Plan{
		Instances: 20, Consumers: 5, Registry: discovery.Services, TTL: 6 * time.Second, Keep: 500 * time.Millisecond,
		Deaths: 5, Deploys: 5, After: time.Second, Within: 3 * time.Second,
	}
	driver := c.Driver().(*Options)
	ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
	defer cancel()
	var o discovery.Outcome
	for attempt := 1; o.Registered.Registered < plan.Instances; attempt++ {
		if attempt > 1 {
			t.Logf("%d instances were registered: %s", o.Registered.Registered, o.Why) // a busy machine lets some time out
		}
		s := service.New(service.Options{
			Dial:  func(ctx context.Context, _ int) (database.Sessions, error) { return plan.Dial(ctx, driver, c.Target()) },
			Facts: driver.Registry(), Plan: plan, Seed: 1, ValueSize: 16, Keys: "test", Workers: 8, Seen: func(string, time.Time, int64) {},
		})
		if err := errors.Join(plan.Await(ctx, driver, c.Target()), s.Register(ctx), s.Follow(ctx), s.Run(ctx)); err != nil {
			t.Fatal(err)
		}
		awaitPassing(ctx, t, c.Target(), plan.Instances-plan.Deaths) // the rest of the load
		s.End(ctx)
		if o = s.Outcome(); attempt == 5 {
			break
		}
	}
	if o.Registered.Registered != plan.Instances || o.Watching != plan.Consumers || o.Left > 0 || o.BehindWhy != "" || o.Beside == "" {
		t.Errorf("%d instances were registered (%s), %d consumers watched (%s), %d registrations are left (%s), %s; beside it %q",
			o.Registered.Registered, o.Why, o.Watching, o.BrokenWhy, o.Left, o.WhyLeft, o.BehindWhy, o.Beside)
	}
	// On a busy machine renewals may come too late: such ends are due to the client.
	if n := o.Counts; n.Early+n.Alive+n.Lost > 0 {
		t.Errorf("counts %+v, witnesses %+v; want none wrong", n, o.Witnesses)
	}
	if deaths, deploys := len(o.Of(discovery.Death)), len(o.Of(discovery.Deploy)); o.Missed+o.Unrenewed+o.Behind == 0 && (deaths != plan.Deaths || deploys != plan.Deploys) {
		t.Errorf("all knew %d deaths and %d deploys, want %d and %d: %+v", deaths, deploys, plan.Deaths, plan.Deploys, o.Changes)
	}
	t.Logf("deaths %+v", o.Of(discovery.Death))
	client, _, err := openLibrary(c.Target(), 0, mostWatched, 1)
	if err != nil {
		t.Fatal(err)
	}
	services, err := client.Agent().Services()
	if err != nil || len(services) > 0 {
		t.Errorf("the agent has %d services at the end (%v), want none", len(services), err)
	}
}

// awaitPassing waits until at most some instances pass: those that did not die.
func awaitPassing(ctx context.Context, t *testing.T, target database.Target, most int) {
	t.Helper()
	r, err := newRegistry(target)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for index := uint64(0); ; {
		names, next, err := r.passing(ctx, r.agents[r.through], index)
		if err != nil {
			t.Fatalf("wait for the ends of dead instances: %v", err)
		}
		if len(names) <= most {
			return
		}
		index = max(next, 1)
	}
}
