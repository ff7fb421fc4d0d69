package control

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/fleet/fleettest"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// racer is a control that wants all agents in a rig, keeps them for a while, and releases them.
// Each call to an agent waits for its turn, and concurrent calls go one after the other.
type racer struct {
	calling sync.Mutex // held by the call that waits for its turn, or is made
	name    string
	fleet   *fleet.Fleet
	turn    chan struct{}
	// news receives a word before each call, when the racer keeps all agents, and at its end:
	// "call", "keeps", "ended".
	news chan string
	won  bool
	had  int // agents that it opened
	err  error
}

func (r *rig) newRacer(name string) *racer {
	c := &racer{name: name, turn: make(chan struct{}), news: make(chan string)}
	o := fleet.Options{RunID: name, Owner: name, Losses: fleet.NewLosses(rigSize, func(int, string) {})}
	for _, a := range r.agents {
		o.Agents = append(o.Agents, a.addr)
	}
	o.Connect = func(ctx context.Context, addr string) (pb.AgentClient, io.Closer, error) {
		client, closer, err := r.connect(ctx, addr)
		return &fleettest.Agent{
			AgentClient: client,
			OnOpen: func(ctx context.Context, req *pb.OpenRequest) (*pb.OpenResponse, error) {
				c.calling.Lock()
				defer c.calling.Unlock()
				c.await("call")
				reply, err := client.Open(ctx, req)
				if err == nil {
					c.had++
				}
				return reply, err
			},
			OnClose: func(ctx context.Context, req *pb.CloseRequest) (*pb.CloseResponse, error) {
				c.calling.Lock()
				defer c.calling.Unlock()
				c.await("call")
				return client.Close(ctx, req)
			},
			OnBeat: func(ctx context.Context, req *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
				c.calling.Lock()
				defer c.calling.Unlock()
				c.await("call")
				return client.Heartbeat(ctx, req)
			},
		}, closer, err
	}
	c.fleet = fleet.New(o)
	return c
}

// await sends news and waits for its turn.
func (c *racer) await(news string) {
	c.news <- news
	<-c.turn
}

// race is the life of a racer. release releases the agents.
func (c *racer) race(ctx context.Context, takeOver func(int) *pb.StartRequest, release func(*fleet.Fleet) error) {
	if c.err = c.fleet.Connect(ctx); c.err == nil {
		c.err = c.fleet.Open(ctx, takeOver, nil)
	}
	if c.err == nil {
		c.won = true
		c.await("keeps")
	}
	if err := release(c.fleet); err != nil && c.err == nil {
		c.err = err
	}
	c.news <- "ended"
}

// race has several controls race for the agents of the rig. The dice choose who makes the next
// call, and when a winner releases its agents; with together, only after all others have ended. It
// returns the winners.
func (r *rig) race(dice *rand.Rand, racers []*racer, together bool, takeOver func(int) *pb.StartRequest, release func(*fleet.Fleet) error) (winners []string) {
	r.t.Helper()
	var moving, keeping []*racer
	hear := func(c *racer) {
		switch <-c.news {
		case "call":
			moving = append(moving, c)
		case "keeps":
			keeping = append(keeping, c)
		}
	}
	for _, c := range racers {
		go c.race(r.t.Context(), takeOver, release)
		hear(c)
	}
	for len(moving)+len(keeping) > 0 {
		from := &moving
		if len(moving) == 0 || !together && len(keeping) > 0 && dice.IntN(4) == 0 {
			from = &keeping
		}
		i := dice.IntN(len(*from))
		c := (*from)[i]
		*from = slices.Delete(*from, i, i+1)
		c.turn <- struct{}{}
		hear(c)
	}
	for _, c := range racers {
		if !c.won && c.had > 0 {
			r.t.Errorf("%s is refused (%v) after it had %d agents", c.name, c.err, c.had)
		}
		if c.won {
			winners = append(winners, c.name)
			if c.err != nil {
				r.t.Errorf("%s gives its agents back: %v", c.name, c.err)
			}
		}
	}
	return winners
}

// racers returns some controls with names for this race.
func (r *rig) racers(dice *rand.Rand, race uint64) (list []*racer) {
	for i := range 2 + dice.IntN(3) {
		list = append(list, r.newRacer(fmt.Sprintf("run-%d-%d", race, i)))
	}
	return list
}

// races returns the number of races that make test runs. make test-long runs them all.
func races(all uint64) uint64 {
	if slowtest.Long() {
		return all
	}
	return all / 4
}

// However calls from several controls interleave, one control gets all agents while the others are
// refused. If it releases them meanwhile, others may get them after it, but no agent refuses a
// control after that control has got another agent.
func TestRaceForAgents(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	release := func(f *fleet.Fleet) error { return f.Close(t.Context()) }
	for n := range races(200) {
		dice := rand.New(rand.NewPCG(n, 9))
		together := n%2 == 0
		winners := r.race(dice, r.racers(dice, n), together, nil, release)
		if len(winners) == 0 || together && len(winners) != 1 {
			t.Fatalf("race %d: %q have all agents, want one", n, winners)
		}
	}
	r.mustBeIdle()
}

// The same holds for controls that want to take over one running cluster.
func TestRaceToTakeOver(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	e := r.experiment(small + "databases: {fake: {steps: {start: true, load: false, stop: false}}}")
	if _, err := r.run(e, nil); err != nil {
		t.Fatalf("start a cluster: %v", err)
	}
	db := &e.Databases[0]
	takeOver, err := startRequests(e, fake.Database(), db, 1)
	if err != nil {
		t.Fatalf("make the requests: %v", err)
	}
	for n := range races(100) {
		dice := rand.New(rand.NewPCG(n, 9))
		together := n%2 == 0
		winners := r.race(dice, r.racers(dice, n), together, takeOver, func(f *fleet.Fleet) error { return f.Leave(t.Context()) })
		if len(winners) == 0 || together && len(winners) != 1 {
			t.Fatalf("race %d: %q have the cluster, want one", n, winners)
		}
	}
	for i, a := range r.agents {
		if pids := a.servers(t); len(pids) != 1 {
			t.Errorf("member %d: processes %v serve, want it left running", i+1, pids)
		}
	}
	if _, err := r.run(r.experiment(small+"databases: {fake: {steps: {start: false, load: false, stop: true}}}"), nil); err != nil {
		t.Errorf("stop the cluster: %v", err)
	}
	r.mustBeIdle()
}

// Controls that race in any order have the same outcome.
func TestRaceFreely(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n := range 20 {
		var group sync.WaitGroup
		errs := make([]error, 4)
		begin, tried := make(chan struct{}), sync.WaitGroup{}
		tried.Add(len(errs))
		for i := range errs {
			group.Go(func() {
				o := fleet.Options{Connect: r.connect, RunID: fmt.Sprintf("free-%d-%d", n, i), Losses: fleet.NewLosses(rigSize, func(int, string) {})}
				for _, a := range r.agents {
					o.Agents = append(o.Agents, a.addr)
				}
				f := fleet.New(o)
				if err := f.Connect(t.Context()); err != nil {
					t.Errorf("connect to the agents: %v", err)
				}
				<-begin
				errs[i] = f.Open(t.Context(), nil, nil)
				tried.Done()
				tried.Wait()
				if err := f.Close(t.Context()); err != nil {
					t.Errorf("give the agents back: %v", err)
				}
			})
		}
		close(begin)
		group.Wait()
		refused := 0
		for _, err := range errs {
			if err != nil {
				refused++
			}
		}
		if refused != len(errs)-1 {
			t.Fatalf("race %d: %d of %d controls are refused, want all but one: %v", n, refused, len(errs), errs)
		}
	}
	r.mustBeIdle()
}
