package control

import (
	"context"
	"testing"

	"github.com/coreos/dbtester/control/fleet/fleettest"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
)

// The processors available to a member are part of its record: without the size of its machine and
// its quota, its CPU figures cannot be judged.
func TestMemberQuota(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tap = func(_ int, c pb.AgentClient) pb.AgentClient {
		return &fleettest.Agent{AgentClient: c, OnOpen: func(ctx context.Context, req *pb.OpenRequest) (*pb.OpenResponse, error) {
			reply, err := c.Open(ctx, req)
			if err != nil {
				return nil, err
			}
			host, err := pb.ReadRecord[results.Host]("the machine", reply.Host)
			if err != nil || host == nil {
				t.Errorf("the agent answers with %q for its machine, error %v", reply.Host, err)
				return reply, err
			}
			host.OnlineCPUs, host.CPUQuota = 64, 1.5
			reply.Host, err = pb.Record("the machine", host)
			return reply, err
		}}
	}
	out := r.mustRun(r.experiment(small+"databases: {fake: {}}"), nil)
	for i, m := range r.read(out.Folders[0], 0).run.Members {
		if m.Host == nil || m.Host.OnlineCPUs != 64 || m.Host.CPUQuota != 1.5 {
			t.Errorf("member %d is on record with host %+v, want 64 online processors and a quota of 1.5", i+1, m.Host)
		}
	}
}
