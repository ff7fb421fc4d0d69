package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/control/fleet/fleettest"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// errSignal is why the tests end a run.
var errSignal = errors.New("a signal came")

// mustBeInterrupted fails the test unless a run ended by errSignal is recorded as interrupted, left
// nothing running, and has whole records up to then.
func (r *rig) mustBeInterrupted(out *Outcome, err error) {
	r.t.Helper()
	r.mustBeIdle()
	if !errors.Is(err, errSignal) {
		r.t.Errorf("error %v, want %v", err, errSignal)
	}
	if err != nil && strings.Contains(err.Error(), "context canceled") {
		r.t.Errorf("error %q hides the cause of the interrupt", err)
	}
	for _, folder := range out.Folders {
		f, err := results.Open(folder)
		if err != nil {
			r.t.Fatalf("open the result folder: %v", err)
		}
		m, err := f.Manifest()
		if err != nil || m.State != results.StateInterrupted || m.Ended.IsZero() {
			r.t.Errorf("manifest %+v (%v), want state interrupted with an end", m, err)
			continue
		}
		for i := range m.Databases {
			rec := r.read(folder, i)
			done := rec.run.State == results.StateComplete && rec.run.Error == "" // before the interrupt
			if !done && rec.run.State != results.StateInterrupted || !done && !strings.Contains(rec.run.Error, errSignal.Error()) {
				r.t.Errorf("the database is %s with error %q, want it complete or interrupted by the signal", rec.run.State, rec.run.Error)
			}
			if k := rec.run.Keys; k != nil && rec.run.Totals != nil && (k.Error != "" || k.Found() < k.MinAdded || k.Found() > k.MaxAdded) {
				r.t.Errorf("keys %+v of %+v", k, rec.run.Totals)
			}
		}
	}
}

func TestInterrupt(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, tc := range []struct {
		name, rest string
		when       func(Update) bool
		// events are the kinds that must be on record.
		events []string
		loaded bool
	}{
		{name: "while opening", rest: small + "databases: {fake: {}}", when: at("open agents")},
		{name: "while starting", rest: small + "databases: {fake: {}}", when: at("start members"), events: []string{"start"}},
		{
			name: "while waiting for a quorum", rest: small + "databases: {fake: {options: {ready_after: 1m}}}",
			when: at("wait for a quorum"), events: []string{"start", "stop 1", "stop 2", "stop 3"},
		},
		{
			name: "while asking versions", rest: small + "databases: {fake: {}}", when: at("ask versions"),
			events: []string{"ready", "stop 3"},
		},
		{name: "before the load", rest: small + "databases: {fake: {}}", when: at("load"), events: []string{"leader 1", "stop 3"}},
		{
			name: "while granting sessions", rest: small + "sessions: {held: 20, ttl: 2s, after: 1s}\ndatabases: {fake: {}}",
			when: at("grant 20 sessions"), events: []string{"load end", "stop 3"},
		},
		{
			name: "while registering instances", when: at("register 20 instances, which 2 consumers watch"),
			rest:   "load: {duration: 1m, clients: 6, key_size: 32, value_size: 64}\ndiscovery: {instances: 20, consumers: 2, notice: 2s, deaths: 1, after: 1s, within: 1s}\ndatabases: {fake: {}}",
			events: []string{"load end", "stop 3"},
		},
		{
			name: "while loading", rest: "load: {duration: 1m, clients: 6, key_size: 32, value_size: 64}\ndatabases: {fake: {}}",
			when: answering, events: []string{"load start", "load end", "stop 3"}, loaded: true,
		},
		{
			name: "while loading by a rate", rest: "load: {rate: 300, duration: 1m, clients: 6, key_size: 32, value_size: 64}\ndatabases: {fake: {}}",
			when: answering, events: []string{"load start", "load end", "stop 3"}, loaded: true,
		},
		{
			name: "while loading a slow server", when: answering, loaded: true, events: []string{"load end", "stop 3"},
			rest: "load: {duration: 1m, clients: 6, key_size: 32, value_size: 64, timeout: 60s}\ndatabases: {fake: {options: {delay: 300ms}}}",
		},
		{
			name: "while stopping", rest: small + "databases: {fake: {}}", when: at("stop members"),
			events: []string{"load end", "stop 1", "stop 2", "stop 3"}, loaded: true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			out, err := r.runCtx(ctx, r.experiment(tc.rest), once(tc.when, func() { cancel(errSignal) }))
			r.mustBeInterrupted(out, err)
			if len(out.Folders) != 1 {
				t.Fatalf("the run made the folders %q, want one", out.Folders)
			}
			rec := r.read(out.Folders[0], 0)
			for _, kind := range tc.events {
				if !slices.Contains(rec.kinds(), kind) {
					t.Errorf("event %q is missing of %q", kind, rec.kinds())
				}
			}
			if tc.loaded != (rec.run.Totals != nil) {
				t.Fatalf("totals are %+v, want some: %v", rec.run.Totals, tc.loaded)
			}
			if tc.loaded {
				if rec.run.Totals.OK == 0 || len(rec.run.Steps) != 1 || rec.run.LoadEnd.IsZero() {
					t.Errorf("run %+v, totals %+v", rec.run, rec.run.Totals)
				}
				checkFiles(t, rec.dir, rigSize)
			}
		})
	}
}

// TestInterruptAnywhere ends runs at regular moments, in whatever step they are.
func TestInterruptAnywhere(t *testing.T) {
	t.Parallel()
	const moments, apart = 9, 45 * time.Millisecond
	for i := range moments {
		after := time.Duration(i) * apart
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			timer := time.AfterFunc(after, func() { cancel(errSignal) })
			defer timer.Stop()
			out, err := r.runCtx(ctx, r.experiment(small+"databases: {fake: {}}"), nil)
			if err == nil {
				r.mustBeIdle()
				return // it was faster
			}
			r.mustBeInterrupted(out, err)
		})
	}
}

// The agents are released even if the interrupted Open succeeded.
func TestInterruptOpen(t *testing.T) {
	t.Parallel()
	for _, which := range []int64{1, 2, 3, 4, 5, 6} { // three to check, three to run
		t.Run(fmt.Sprint(which), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var opened atomic.Int64
			r.tap = func(_ int, c pb.AgentClient) pb.AgentClient {
				return &fleettest.Agent{AgentClient: c, OnOpen: func(ctx context.Context, req *pb.OpenRequest) (*pb.OpenResponse, error) {
					if opened.Add(1) != which {
						return c.Open(ctx, req)
					}
					// The agent receives it, and control does not wait for the answer.
					if _, err := c.Open(context.WithoutCancel(ctx), req); err != nil {
						t.Errorf("open the agent: %v", err)
					}
					cancel(errSignal)
					<-ctx.Done()
					return nil, ctx.Err()
				}}
			}
			out, err := r.runCtx(ctx, r.experiment(small+"databases: {fake: {}}"), nil)
			r.mustBeInterrupted(out, err)
			if folders := int(which-1) / rigSize; len(out.Folders) != folders {
				t.Errorf("the run made the folders %q, want %d", out.Folders, folders)
			}
		})
	}
}
