package fake_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/workload"
)

func TestMain(m *testing.M) {
	_ = os.Unsetenv(databasetest.MemberEnv) // the test is about the built-in server
	databasetest.Main(m, database.NewRegistry(fake.Database()))
}

func suite() databasetest.Suite {
	return databasetest.Suite{
		Database:    fake.Database(),
		Addrs:       []string{"127.0.3.1", "127.0.3.2", "127.0.3.3"},
		FixedLeader: true,
	}
}

func TestConformance(t *testing.T) { databasetest.Run(t, suite()) }

// The faults must be distinguishable: a refused write is surely not applied, and a lost
// one is applied without an answer.
func TestFaults(t *testing.T) {
	s := suite()
	s.Options = "{fail_every: 4, lose_every: 10}"
	c := databasetest.Start(t, s, 2)
	for member := range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
		defer cancel()
		counter := c.Driver().(database.Counter)
		before, err := counter.CountKeys(ctx, c.Target())
		if err != nil {
			t.Fatalf("count the keys: %v", err)
		}
		client, err := c.Driver().Dial(ctx, c.To(member))
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		defer client.Close()
		got := map[workload.Outcome]map[database.Class]int{}
		for i := range 20 {
			outcome, class := database.Classify(client.Put(ctx, []byte{byte(member), byte(i)}, []byte("x")))
			if got[outcome] == nil {
				got[outcome] = map[database.Class]int{}
			}
			got[outcome][class]++
		}
		// Every 20th is refused before it can be lost.
		if got[workload.Failed][database.ClassThrottled] != 5 || got[workload.Unknown][database.ClassConnection] != 1 {
			t.Errorf("member %d: outcomes %v, want 5 throttled and 1 connection lost", member, got)
		}
		after, err := counter.CountKeys(ctx, c.Target())
		if err != nil || after-before != 15 {
			t.Errorf("member %d: %d keys are new, want 15: %v", member, after-before, err)
		}
	}
}

func TestDelay(t *testing.T) {
	s := suite()
	const delay = 300 * time.Millisecond
	s.Options = "delay: " + delay.String()
	c := databasetest.Start(t, s, 1)
	client, err := c.Driver().Dial(t.Context(), c.Target())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	defer client.Close()
	start := time.Now()
	if err := client.Put(t.Context(), []byte("k"), nil); err != nil {
		t.Fatalf("put: %v", err)
	}
	if took := time.Since(start); took < delay {
		t.Errorf("a write took %v, less than the delay", took)
	}
	err = databasetest.Sent(func(times time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), min(times*5*time.Millisecond, delay/2))
		defer cancel()
		return client.Put(ctx, []byte("k"), nil)
	})
	if outcome, class := database.Classify(err); outcome != workload.Unknown || class != database.ClassTimeout {
		t.Errorf("a write that is out of time is %v, %q", outcome, class)
	}
	if err := client.Put(t.Context(), []byte("k"), nil); err != nil {
		t.Errorf("the client does not recover: %v", err)
	}
}

// Under one_by_one no two requests take their time at once.
func TestOneByOne(t *testing.T) {
	s := suite()
	const delay, clients = 50 * time.Millisecond, 4
	s.Options = "{delay: " + delay.String() + ", one_by_one: true}"
	c := databasetest.Start(t, s, 1)
	start := time.Now()
	var all sync.WaitGroup
	for range clients {
		client, err := c.Driver().Dial(t.Context(), c.Target())
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		defer client.Close()
		all.Go(func() {
			if err := client.Put(t.Context(), []byte("k"), nil); err != nil {
				t.Errorf("put: %v", err)
			}
		})
	}
	all.Wait()
	if took := time.Since(start); took < clients*delay {
		t.Errorf("%d writes took %v, less than the delay of each after the other", clients, took)
	}
}

func TestReadyAfter(t *testing.T) {
	s := suite()
	s.Options = "ready_after: 300ms"
	start := time.Now()
	databasetest.Start(t, s, 1)
	if took := time.Since(start); took < 300*time.Millisecond {
		t.Errorf("ready after %v", took)
	}
}

func TestValidate(t *testing.T) {
	for _, o := range []fake.Options{{Delay: -1}, {FailEvery: -1}, {LoseEvery: -1}, {ReadyAfter: -1}} {
		if o.Validate(database.HostFacts{}) == nil {
			t.Errorf("%+v is valid", o)
		}
	}
	if err := fake.New().Validate(database.HostFacts{}); err != nil {
		t.Errorf("validate the options: %v", err)
	}
}
