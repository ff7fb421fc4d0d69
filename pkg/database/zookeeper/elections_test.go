package zookeeper

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

// elects: instances elect a leader by an ephemeral znode. It dies, all consumers know the next one,
// and the parts of that time add up and follow the session rule.
func elects(t *testing.T, c *databasetest.Cluster) {
	driver := c.Driver().(*Options)
	facts := driver.SessionFacts()
	plan := discovery.Plan{
		Instances: 4, Consumers: 3, TTL: facts.Least, Keep: facts.Least / 4,
		After: 100 * time.Millisecond, Within: 100 * time.Millisecond, Elections: 1,
	}
	const changes = 4 // the first leader, when its two keys end, and the next one
	told := make(chan struct{}, changes*plan.Consumers)
	s := service.New(service.Options{
		Dial: func(ctx context.Context, _ int) (database.Sessions, error) {
			return driver.DialSessions(ctx, c.Target())
		},
		Facts: facts, Plan: plan, Seed: 1, ValueSize: 16, Keys: "test", Workers: 4,
		Seen: func(name string, _ time.Time, _ int64) {
			if name != discovery.ValueTold {
				return
			}
			select {
			case told <- struct{}{}:
			default: // enough
			}
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
	defer cancel()
	if err := errors.Join(s.Register(ctx), s.Follow(ctx), s.Run(ctx)); err != nil {
		t.Fatal(err)
	}
	for range changes * plan.Consumers {
		select {
		case <-told:
		case <-ctx.Done():
			t.Fatal("consumers were not told of the next leader")
		}
	}
	s.End(ctx)
	o := s.Outcome()
	if o.Registered.Registered != plan.Instances || o.Watching != plan.Consumers || o.Early+o.Lost+o.Left > 0 || o.Why+o.BehindWhy != "" {
		t.Errorf("the outcome is %+v", o)
	}
	elections := o.Of(discovery.Election)
	// On a busy machine renewals may come too late: such ends are due to the client.
	if o.Missed+o.Unrenewed == 0 && len(elections) != 1 {
		t.Fatalf("all consumers knew %d next leaders, want 1: %+v", len(elections), o.Changes)
	}
	for _, one := range elections {
		if sum := one.Left + one.Late + one.HandOff + one.FanOut; sum != one.Whole {
			t.Errorf("the parts of %+v add up to %v", one, sum)
		}
		if one.Late < -5*time.Millisecond || one.Left <= 0 || one.Left > facts.Least || one.FanOut < 0 {
			t.Errorf("the leader's session ended %v after its TTL, of which %v were left, and consumers were %v apart", one.Late, one.Left, one.FanOut)
		}
	}
}
