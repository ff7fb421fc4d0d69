package agent_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// capture is a registrar that keeps the service, to call its handlers in an order a connection does
// not guarantee.
type capture struct{ service pb.AgentServer }

func (c *capture) RegisterService(_ *grpc.ServiceDesc, impl any) { c.service = impl.(pb.AgentServer) }

// An Open whose call was cancelled may be scheduled after the Close that follows
// it. Its control is gone, so it must not reserve the agent.
func TestCancelledOpenAfterClose(t *testing.T) {
	h := serve(t, nil)
	var direct capture
	h.agent.Register(&direct)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Close(t.Context(), &pb.CloseRequest{RunId: "run1"}); err != nil {
		t.Fatalf("close of an idle agent failed: %v", err)
	}
	_, err := direct.service.Open(ctx, &pb.OpenRequest{RunId: "run1", Owner: "tester"})
	wantCode(t, err, codes.Canceled)
	if got := h.status(); got.State != pb.State_STATE_IDLE {
		t.Errorf("a cancelled Open left the agent %v, owned by %v; want it idle", got.State, got.Owner)
	}
}
