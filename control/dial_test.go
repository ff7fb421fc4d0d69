package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// threeSteps opens new connections for each step. The first is long: a member dies in it, also on a
// busy machine. The others have requests however busy it is.
const threeSteps = "load: {key_size: 32, value_size: 64, timeout: 60s, steps: [{clients: 3, duration: 3s}, {clients: 6, requests: 60}, {clients: 6, connections: 6, requests: 60}]}\n"

// mustLose checks a run that lost one member and continued: its records are whole, and the loss
// is the first reason why it is not valid. The first step, which lost the member, may have failed
// requests.
func (r *rig) mustLose(out *Outcome, err error, steps int, why string) record {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("run the experiment: %v", err)
	}
	others := func(s string) bool { return !strings.HasPrefix(s, why) && !strings.Contains(s, ": step 1, ") }
	if len(out.Invalid) == 0 || !strings.HasPrefix(out.Invalid[0], why) || slices.ContainsFunc(ofRun(out.Invalid), others) {
		r.t.Errorf("invalid: want %q, then verdicts on step 1 at most, got %q", why, out.Invalid)
	}
	rec := r.read(out.Folders[0], 0)
	if rec.run.State != results.StateComplete || len(rec.run.Steps) != steps || rec.run.Totals == nil || rec.run.Totals.OK == 0 {
		r.t.Fatalf("the run is %s with %d steps and totals %+v, want it complete with %d steps", rec.run.State, len(rec.run.Steps), rec.run.Totals, steps)
	}
	return rec
}

// heralds returns the fake with clients that call kill once, before the write with a number,
// counted from 1 over all clients. The other clients wait for it too.
func heralds(number int64, kill func()) *database.Registry {
	db := fake.Database()
	var once sync.Once
	var writes atomic.Int64
	db.New = func() database.Driver {
		return &heraldDriver{fake.New(), func() {
			if writes.Add(1) >= number {
				once.Do(kill)
			}
		}}
	}
	return database.NewRegistry(db)
}

// heraldDriver is the fake with clients that call a function before each write.
type heraldDriver struct {
	*fake.Options `yaml:",inline"`
	before        func()
}

type heraldClient struct {
	database.Client
	before func()
}

func (d *heraldDriver) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	c, err := d.Options.Dial(ctx, t)
	if err != nil {
		return nil, err
	}
	return heraldClient{c, d.before}, nil
}

func (c heraldClient) Put(ctx context.Context, key, value []byte) error {
	c.before()
	return c.Client.Put(ctx, key, value)
}

// A member that dies during one step is left out in later steps, which continue over the others
// without a failure.
func TestMemberDiesBetweenSteps(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	var r *rig
	r = newRigOf(t, heralds(1, func() { r.kill(2) }))
	out, err := r.run(r.experiment(threeSteps+"databases: {fake: {}}"), nil)
	r.mustBeIdle()
	rec := r.mustLose(out, err, 3, "fake: server lost: member 3: it was killed by another process, or by the kernel because memory ran out, fake: killed by SIGKILL")
	for _, i := range rec.intervals {
		if i.Step > 0 && i.Failed+i.Unknown > 0 {
			t.Errorf("step %d, after the loss, has %d failed and %d unknown requests, want none", i.Step, i.Failed, i.Unknown)
		}
	}
	if s := rec.run.Steps[0]; s.ConnectionsLost != 1 || s.Reconnects != 0 || s.WaitingNS == 0 {
		t.Errorf("step that lost the member: %+v; want that its one client lost the connection, waited and did not reconnect", s)
	}
	if b := rec.run.Backoff; b == nil || *b != (results.Backoff{FirstNS: 10e6, LongestNS: 1e9, Jitter: 0.2, OvertakeNS: 250e6}) {
		t.Errorf("the manifest has the back-off %+v, want 10 ms to 1 s within 20 %%", b)
	}
	if bad := rec.run.Totals.Failed + rec.run.Totals.Unknown; bad > 1 {
		t.Errorf("%+v, want at most the request that lost the connection not ok", rec.run.Totals)
	}
}

// A loss missed by heartbeats is noticed when connections are opened. The agent reports it in the
// last words of the member.
func TestMemberDiesUnnoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	out, err := r.run(r.experiment(small+"databases: {fake: {}}"), once(at("load"), func() {
		r.kill(1)
		for r.status(1).State != pb.State_STATE_STOPPED {
			time.Sleep(time.Millisecond)
		}
	}))
	r.mustBeIdle()
	rec := r.mustLose(out, err, 1, "fake: server lost: member 2: it was killed by another process, or by the kernel because memory ran out, fake: killed by SIGKILL")
	if rec.run.Totals.OK != 300 {
		t.Errorf("totals %+v", rec.run.Totals)
	}
}

// In a cluster without agents, only the connections show a loss.
func TestEndpointDiesBetweenSteps(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := startEtcd(t)
	dies := (r.leader + 1) % rigSize
	e := r.parse(r.file("key_size: 32, value_size: 64, timeout: 60s, steps: [{clients: 3, duration: 12s}, {clients: 6, connections: 6, requests: 60}]"))
	out, err := r.run(e, once(loading, func() { r.Kill(dies) }))
	want := fmt.Sprintf("etcd: server lost: member %d: it accepts no connections: dial etcd: unavailable: ", dies+1)
	rec := r.mustLose(out, err, 2, want)
	if k := rec.run.Keys; k.Error != "" || k.Found() < k.MinAdded || k.Found() > k.MaxAdded {
		t.Errorf("keys %+v", k)
	}
}

// No other member replaces the only target of a load.
func TestTargetDiesBetweenSteps(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	var r *rig
	r = newRigOf(t, heralds(20, func() { r.kill(1) }))
	rest := strings.Replace(threeSteps, "load: {", "load: {target: "+r.agents[1].host+", ", 1)
	out, err := r.run(r.experiment(rest+"databases: {fake: {}}"), nil)
	// A heartbeat shows it, or a refused connection.
	if err == nil || !strings.Contains(err.Error(), `every target member of the load ("`+r.agents[1].host+`") is lost`) &&
		!strings.Contains(err.Error(), "open 6 connections: dial fake: unavailable: ") {
		t.Errorf("error %v", err)
	}
	r.mustBeIdle()
	rec := r.read(out.Folders[0], 0)
	if rec.run.State != results.StateFailed || len(rec.run.Steps) != 1 || !slices.Contains(rec.marks(), "!"+mark.Lost) {
		t.Errorf("%s, %d steps, marks %q", rec.run.State, len(rec.run.Steps), rec.marks())
	}
}

// crowded is the fake with members that take so many connections and no more.
type crowded struct {
	*fake.Options `yaml:",inline"`
	open          *atomic.Int64
}

const crowd = 4

type crowdedClient struct {
	database.Client
	open *atomic.Int64
}

func (c *crowdedClient) Close() error {
	c.open.Add(-1)
	return c.Client.Close()
}

func (d *crowded) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	if d.open.Add(1) > crowd {
		d.open.Add(-1)
		return nil, database.NotApplied(database.ClassUnavailable, errors.New("too many connections"))
	}
	conn, err := d.Options.Dial(ctx, t)
	if err != nil {
		d.open.Add(-1)
		return nil, err
	}
	return &crowdedClient{conn, d.open}, nil
}

// A member that takes one connection is not lost because it does not take as many as the load
// wants.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	entry := fake.Database()
	open := &atomic.Int64{}
	entry.New = func() database.Driver { return &crowded{fake.New(), open} }
	r := newRigOf(t, database.NewRegistry(entry))
	out, err := r.run(r.experiment(small+"databases: {fake: {}}"), nil)
	if err == nil || !strings.Contains(err.Error(), "open 6 connections: unavailable: too many connections") {
		t.Errorf("error %v", err)
	}
	r.mustBeIdle()
	if len(out.Invalid) > 0 || open.Load() != 0 {
		t.Errorf("invalid %q, %d connections are left", out.Invalid, open.Load())
	}
}
