package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// mustRefuse runs an experiment that must be refused before anything is made, with all these texts.
func (r *rig) mustRefuse(opts Options, texts ...string) {
	r.t.Helper()
	out, err := Run(r.t.Context(), opts)
	if err == nil {
		r.t.Fatal("the run succeeded, want a refusal")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			r.t.Errorf("error %q does not contain %q", err, text)
		}
	}
	if len(out.Folders) > 0 {
		r.t.Errorf("a refused run made the folders %q, want none", out.Folders)
	}
	if _, err := os.Stat(r.results); !errors.Is(err, os.ErrNotExist) {
		r.t.Errorf("a refused run made the folder of results (%v), want none", err)
	}
}

func TestAbsentAgents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.experiment(small + "databases: {fake: {}}")
	hosts := e.Databases[0].Hosts
	hosts[1].AgentPort, hosts[2].AgentPort = freePort(t, hosts[1].Addr), freePort(t, hosts[2].Addr)
	r.mustRefuse(r.options(e, nil),
		fmt.Sprintf("fake: agent %s cannot be reached: dial tcp %[1]s: connect: connection refused", hosts[1].Agent()),
		fmt.Sprintf("agent %s cannot be reached", hosts[2].Agent()))
	r.mustBeIdle()
}

func TestOwnedAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	owned := r.agents[1]
	if _, err := owned.client.Open(t.Context(), &pb.OpenRequest{RunId: "hers", Owner: "ann@desk pid 7"}); err != nil {
		t.Fatalf("open the session: %v", err)
	}
	e := r.experiment(small + "databases: {fake: {}}")
	r.mustRefuse(r.options(e, nil), fmt.Sprintf("fake: agent %s: the agent belongs to ann@desk pid 7 (run %s) since ", owned.addr, pb.RunHash("hers")), "last heard from ")
	if s := r.status(1); s.State != pb.State_STATE_OPEN || s.Owner.RunHash != pb.RunHash("hers") {
		t.Errorf("the owner's session is now %v, want it unchanged", s)
	}
	if _, err := owned.client.Close(t.Context(), &pb.CloseRequest{RunId: "hers"}); err != nil {
		t.Errorf("close the session: %v", err)
	}
	r.mustBeIdle()
}

func TestTakenPort(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	taken := fmt.Sprintf("%s:%d", r.agents[2].host, r.agents[2].port)
	l, err := net.Listen("tcp", taken)
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	defer l.Close()
	r.mustRefuse(r.options(r.experiment(small+"databases: {fake: {}}"), nil),
		fmt.Sprintf("agent %s: address %s is taken by control.test (pid %d)", r.agents[2].addr, taken, os.Getpid()))
	r.mustBeIdle()
}

// An error in any database keeps all databases from running, and all errors are reported.
func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.experiment(small + "databases: {fake__slow: {}, fake__good: {}, fake__flaky: {}}")
	e.Databases[0].OptionsYAML = []byte("delay: -1s")
	e.Databases[2].OptionsYAML = []byte("fail_every: -1")
	r.mustRefuse(r.options(e, nil), "fake__slow: options of fake__slow: ", "fake__flaky: options of fake__flaky: ", "must be at least 0")
	r.mustBeIdle()
}

func TestUnknownDatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.experiment(small + "databases: {fake: {}}")
	e.Databases[0].Name = "etch"
	r.mustRefuse(r.options(e, nil), `unknown database "etch" (known: fake, frail)`)
}

func TestConnectFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.options(r.experiment(small+"databases: {fake: {}}"), nil)
	good := o.Connect
	o.Connect = func(ctx context.Context, addr string) (pb.AgentClient, io.Closer, error) {
		if addr == r.agents[2].addr {
			return nil, nil, errors.New("no certificate")
		}
		return good(ctx, addr)
	}
	r.mustRefuse(o, fmt.Sprintf("agent %s: no certificate", r.agents[2].addr))
	r.mustBeIdle()
}

// If two controls want the same agents, one gets them all and the other gets nothing.
func TestTwoControls(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	for round := range 10 {
		over := make(chan struct{}, 2)
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				// The winner has all agents, and does not end before the other was refused:
				// otherwise both could win.
				o := r.options(r.experiment(small+"databases: {fake: {}}"), once(at("start members"), func() {
					select {
					case <-over:
					case <-time.After(patience):
						t.Error("both controls load at once, want one to be refused")
					}
					cancel(errSignal)
				}))
				o.Owner = fmt.Sprintf("control %d", i+1)
				_, errs[i] = Run(ctx, o)
				over <- struct{}{}
			})
		}
		wg.Wait()
		r.mustBeIdle()
		winner := 0
		if errors.Is(errs[1], errSignal) {
			winner = 1
		}
		if !errors.Is(errs[winner], errSignal) {
			t.Fatalf("round %d: both controls were refused: %v", round, errs)
		}
		if lost := errs[1-winner]; lost == nil || !strings.Contains(lost.Error(), fmt.Sprintf("belongs to control %d", winner+1)) {
			t.Errorf("round %d: the refused control failed otherwise: %v", round, lost)
		}
	}
}
