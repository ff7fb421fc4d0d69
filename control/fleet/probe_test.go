package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// The wait for a quorum must not run to its timeout for a dead agent. An agent that answers again
// in time continues.
func TestProbeOfDeadAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := false
		tap := answers("run")
		tap.OnStatus = func(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
			if up {
				return &pb.StatusResponse{State: pb.State_STATE_RUNNING, Owner: &pb.Owner{RunHash: pb.RunHash("run")}, NotReady: "no quorum"}, nil
			}
			return nil, status.Error(codes.Unavailable, "connection refused")
		}
		f := scripted(tap)
		probe := func() (err error, dead bool) {
			err = f.Probe(t.Context(), 0)
			var d *DeadError
			return err, errors.As(err, &d)
		}
		for range 2 {
			if err, dead := probe(); dead {
				t.Fatalf("dead at the first refusal, or after an answer: %v", err)
			}
			time.Sleep(silentTimeout - time.Second)
			if err, dead := probe(); dead {
				t.Fatalf("dead before %v: %v", silentTimeout, err)
			}
			up = true
			if err, _ := probe(); err == nil || err.Error() != "no quorum" {
				t.Fatalf("an agent that answers: %v, want its word", err)
			}
			up = false
		}
		_, _ = probe()
		time.Sleep(silentTimeout)
		if err, dead := probe(); !dead || !strings.Contains(err.Error(), "did not answer for 3s") {
			t.Errorf("after %v of refusals: %v, want the member dead", silentTimeout, err)
		}
	})
}
