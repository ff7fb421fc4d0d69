package agent

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// bounded is the service with verbs that all end: with their call, with the agent, and with the
// session if they wait for one, each within the grace. A verb then abandons what it waits for, a
// driver or a client that does not read.
//
// Stop and Close wait for the children, whose ends have deadlines.
type bounded struct {
	pb.UnimplementedAgentServer
	service service
}

var _ pb.AgentServer = bounded{}

func (b bounded) Open(ctx context.Context, req *pb.OpenRequest) (*pb.OpenResponse, error) {
	return unary(ctx, b.service.agent, "Open", b.service.agent.ctx, req, b.service.Open)
}

func (b bounded) Install(req *pb.InstallRequest, stream grpc.ServerStreamingServer[pb.InstallProgress]) error {
	a := b.service.agent
	return bound(stream.Context(), a, "Install", a.life(req.GetRunId()), func(context.Context) error { return b.service.Install(req, stream) })
}

func (b bounded) Start(ctx context.Context, req *pb.StartRequest) (*pb.StartResponse, error) {
	a := b.service.agent
	return unary(ctx, a, "Start", a.life(req.GetRunId()), req, b.service.Start)
}

func (b bounded) Heartbeat(ctx context.Context, req *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
	return unary(ctx, b.service.agent, "Heartbeat", b.service.agent.ctx, req, b.service.Heartbeat)
}

func (b bounded) Fault(ctx context.Context, req *pb.FaultRequest) (*pb.FaultResponse, error) {
	a := b.service.agent
	return unary(ctx, a, "Fault", a.life(req.GetRunId()), req, b.service.Fault)
}

func (b bounded) Heal(ctx context.Context, req *pb.HealRequest) (*pb.FaultResponse, error) {
	a := b.service.agent
	return unary(ctx, a, "Heal", a.life(req.GetRunId()), req, b.service.Heal)
}

func (b bounded) Stop(ctx context.Context, req *pb.StopRequest) (*pb.StopResponse, error) {
	return unary(ctx, b.service.agent, "Stop", b.service.agent.ctx, req, b.service.Stop)
}

func (b bounded) Status(ctx context.Context, req *pb.StatusRequest) (*pb.StatusResponse, error) {
	a := b.service.agent
	over := a.ctx
	if req.GetProbe() {
		over = a.life(req.GetRunId())
	}
	return unary(ctx, a, "Status", over, req, b.service.Status)
}

func (b bounded) Collect(req *pb.CollectRequest, stream grpc.ServerStreamingServer[pb.CollectChunk]) error {
	a := b.service.agent
	return bound(stream.Context(), a, "Collect", a.keep(req.GetRunId()), func(context.Context) error { return b.service.Collect(req, stream) })
}

func (b bounded) Close(ctx context.Context, req *pb.CloseRequest) (*pb.CloseResponse, error) {
	return unary(ctx, b.service.agent, "Close", b.service.agent.ctx, req, b.service.Close)
}

// life returns a context that ends when the session of the run is to stop. If the run has no
// session, or its session has stopped, it returns the agent's context: then there is nothing to
// wait for.
func (a *Agent) life(run string) context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.session; s != nil && s.now.Run == run && s.ctx.Err() == nil {
		return s.ctx
	}
	return a.ctx
}

// keep returns a context that ends when the session directory of the run is to be removed.
func (a *Agent) keep(run string) context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.session; s != nil && s.now.Run == run {
		return s.kept
	}
	return a.ctx
}

// unary is bound for a verb with one answer.
func unary[Req, Resp any](ctx context.Context, a *Agent, verb string, over context.Context, req Req, call func(context.Context, Req) (*Resp, error)) (*Resp, error) {
	var resp *Resp
	answered := make(chan *Resp, 1)
	err := bound(ctx, a, verb, over, func(ctx context.Context) error {
		got, err := call(ctx, req)
		answered <- got
		return err
	})
	select {
	case resp = <-answered:
	default: // the verb was abandoned
	}
	return resp, err
}

// bound makes a call and returns its error, or why its time is over: over has ended, or ctx has.
// The call has the grace to answer by itself. Then its context is cancelled and it is abandoned. A
// panic in the call becomes an error.
func bound(ctx context.Context, a *Agent, verb string, over context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer recovered(a.opts.Log, verb, &err)
		err = call(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-over.Done():
	case <-ctx.Done():
	}
	timer := time.NewTimer(a.opts.Grace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
	}
	switch {
	case a.ctx.Err() != nil:
		return status.Errorf(codes.Unavailable, "%s: the agent is closing", verb)
	case over.Err() != nil:
		return status.Errorf(codes.Aborted, "%s: the session is over: %v", verb, context.Cause(over))
	default:
		return status.FromContextError(ctx.Err()).Err()
	}
}
