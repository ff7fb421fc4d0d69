package control

import (
	"context"
	"errors"
	"slices"
	"testing"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// TestTakenOverStays: a cluster started by an earlier run, which this run is to leave running,
// stays even if this run ends before the cluster is known to be ready.
func TestTakenOverStays(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	pids := func() (pids []string) {
		for _, a := range r.agents {
			pids = append(pids, a.servers(t)...)
		}
		return pids
	}
	r.mustRunLeft(r.experiment(small + "databases: {fake: {steps: {load: false, stop: false}}}"))
	running := pids()
	if len(running) != rigSize {
		t.Fatalf("processes %v serve, want %d", running, rigSize)
	}
	for _, when := range []string{"open agents", "take over members", "wait for a quorum"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := r.runCtx(ctx, r.experiment(small+"databases: {fake: {steps: {start: false, stop: false}}}"), once(at(when), func() { cancel(errSignal) }))
		cancel(nil)
		if !errors.Is(err, errSignal) {
			t.Errorf("%s: error %v, want %v", when, err, errSignal)
		}
		for n := range r.agents {
			if s := r.status(n); s.State != pb.State_STATE_RUNNING || !s.Owner.GetDetached() {
				t.Errorf("%s: agent %d is %v of %v, want its member left running", when, n+1, s.State, s.Owner)
			}
		}
		if now := pids(); !slices.Equal(running, now) {
			t.Fatalf("%s: processes %v serve, want still %v", when, now, running)
		}
	}
	r.mustRun(r.experiment(small+"databases: {fake: {steps: {start: false, load: false}}}"), nil)
}
