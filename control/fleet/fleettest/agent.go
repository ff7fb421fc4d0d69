// Package fleettest has agents that misbehave, to test their callers.
package fleettest

import (
	"context"

	"google.golang.org/grpc"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// Agent replaces some verbs of an agent client. A verb whose function is nil calls AgentClient.
type Agent struct {
	pb.AgentClient
	OnOpen    func(context.Context, *pb.OpenRequest) (*pb.OpenResponse, error)
	OnStart   func(context.Context, *pb.StartRequest) (*pb.StartResponse, error)
	OnBeat    func(context.Context, *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error)
	OnStop    func(context.Context, *pb.StopRequest) (*pb.StopResponse, error)
	OnStatus  func(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error)
	OnCollect func(context.Context, *pb.CollectRequest) (grpc.ServerStreamingClient[pb.CollectChunk], error)
	OnClose   func(context.Context, *pb.CloseRequest) (*pb.CloseResponse, error)
}

// verb calls the replacement for a verb, or the verb.
func verb[Req, Resp any](
	ctx context.Context, req Req, replaced func(context.Context, Req) (Resp, error), client pb.AgentClient,
	real func(pb.AgentClient, context.Context, Req, ...grpc.CallOption) (Resp, error), opts []grpc.CallOption,
) (Resp, error) {
	if replaced != nil {
		return replaced(ctx, req)
	}
	return real(client, ctx, req, opts...)
}

// Open calls the replacement, or the verb.
func (c *Agent) Open(ctx context.Context, req *pb.OpenRequest, opts ...grpc.CallOption) (*pb.OpenResponse, error) {
	return verb(ctx, req, c.OnOpen, c.AgentClient, pb.AgentClient.Open, opts)
}

// Start calls the replacement, or the verb.
func (c *Agent) Start(ctx context.Context, req *pb.StartRequest, opts ...grpc.CallOption) (*pb.StartResponse, error) {
	return verb(ctx, req, c.OnStart, c.AgentClient, pb.AgentClient.Start, opts)
}

// Heartbeat calls the replacement, or the verb.
func (c *Agent) Heartbeat(ctx context.Context, req *pb.HeartbeatRequest, opts ...grpc.CallOption) (*pb.HeartbeatResponse, error) {
	return verb(ctx, req, c.OnBeat, c.AgentClient, pb.AgentClient.Heartbeat, opts)
}

// Stop calls the replacement, or the verb.
func (c *Agent) Stop(ctx context.Context, req *pb.StopRequest, opts ...grpc.CallOption) (*pb.StopResponse, error) {
	return verb(ctx, req, c.OnStop, c.AgentClient, pb.AgentClient.Stop, opts)
}

// Status calls the replacement, or the verb.
func (c *Agent) Status(ctx context.Context, req *pb.StatusRequest, opts ...grpc.CallOption) (*pb.StatusResponse, error) {
	return verb(ctx, req, c.OnStatus, c.AgentClient, pb.AgentClient.Status, opts)
}

// Collect calls the replacement, or the verb.
func (c *Agent) Collect(
	ctx context.Context, req *pb.CollectRequest, opts ...grpc.CallOption,
) (grpc.ServerStreamingClient[pb.CollectChunk], error) {
	return verb(ctx, req, c.OnCollect, c.AgentClient, pb.AgentClient.Collect, opts)
}

// Close calls the replacement, or the verb.
func (c *Agent) Close(ctx context.Context, req *pb.CloseRequest, opts ...grpc.CallOption) (*pb.CloseResponse, error) {
	return verb(ctx, req, c.OnClose, c.AgentClient, pb.AgentClient.Close, opts)
}

// Chunks streams List and then Err, which is io.EOF when a complete stream ends.
type Chunks struct {
	grpc.ServerStreamingClient[pb.CollectChunk]
	List []*pb.CollectChunk
	Err  error
}

// Recv returns the next message.

func (s *Chunks) Recv() (*pb.CollectChunk, error) {
	if len(s.List) == 0 {
		return nil, s.Err
	}
	c := s.List[0]
	s.List = s.List[1:]
	return c, nil
}

// StatusOf returns a function that always returns resp.
func StatusOf(resp *pb.StatusResponse) func(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return func(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) { return resp, nil }
}
