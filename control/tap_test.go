package control

import (
	"context"

	"google.golang.org/grpc"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// tapped is an agent's client with some verbs replaced.
type tapped struct {
	pb.AgentClient
	open    func(context.Context, *pb.OpenRequest) (*pb.OpenResponse, error)
	start   func(context.Context, *pb.StartRequest) (*pb.StartResponse, error)
	beat    func(context.Context, *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error)
	stop    func(context.Context, *pb.StopRequest) (*pb.StopResponse, error)
	status  func(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error)
	collect func(context.Context, *pb.CollectRequest) (grpc.ServerStreamingClient[pb.CollectChunk], error)
	close   func(context.Context, *pb.CloseRequest) (*pb.CloseResponse, error)
}

// verb calls the replacement of a verb, or the verb.
func verb[Req, Resp any](
	ctx context.Context, req Req, replaced func(context.Context, Req) (Resp, error), client pb.AgentClient,
	real func(pb.AgentClient, context.Context, Req, ...grpc.CallOption) (Resp, error), opts []grpc.CallOption,
) (Resp, error) {
	if replaced != nil {
		return replaced(ctx, req)
	}
	return real(client, ctx, req, opts...)
}

func (c *tapped) Open(ctx context.Context, req *pb.OpenRequest, opts ...grpc.CallOption) (*pb.OpenResponse, error) {
	return verb(ctx, req, c.open, c.AgentClient, pb.AgentClient.Open, opts)
}

func (c *tapped) Start(ctx context.Context, req *pb.StartRequest, opts ...grpc.CallOption) (*pb.StartResponse, error) {
	return verb(ctx, req, c.start, c.AgentClient, pb.AgentClient.Start, opts)
}

func (c *tapped) Heartbeat(ctx context.Context, req *pb.HeartbeatRequest, opts ...grpc.CallOption) (*pb.HeartbeatResponse, error) {
	return verb(ctx, req, c.beat, c.AgentClient, pb.AgentClient.Heartbeat, opts)
}

func (c *tapped) Stop(ctx context.Context, req *pb.StopRequest, opts ...grpc.CallOption) (*pb.StopResponse, error) {
	return verb(ctx, req, c.stop, c.AgentClient, pb.AgentClient.Stop, opts)
}

func (c *tapped) Status(ctx context.Context, req *pb.StatusRequest, opts ...grpc.CallOption) (*pb.StatusResponse, error) {
	return verb(ctx, req, c.status, c.AgentClient, pb.AgentClient.Status, opts)
}

func (c *tapped) Collect(
	ctx context.Context, req *pb.CollectRequest, opts ...grpc.CallOption,
) (grpc.ServerStreamingClient[pb.CollectChunk], error) {
	return verb(ctx, req, c.collect, c.AgentClient, pb.AgentClient.Collect, opts)
}

func (c *tapped) Close(ctx context.Context, req *pb.CloseRequest, opts ...grpc.CallOption) (*pb.CloseResponse, error) {
	return verb(ctx, req, c.close, c.AgentClient, pb.AgentClient.Close, opts)
}

// chunks is a stream of given messages, with a last error instead of io.EOF if it
// is not nil.
type chunks struct {
	grpc.ServerStreamingClient[pb.CollectChunk]
	list []*pb.CollectChunk
	err  error
}

func (s *chunks) Recv() (*pb.CollectChunk, error) {
	if len(s.list) == 0 {
		return nil, s.err
	}
	c := s.list[0]
	s.list = s.list[1:]
	return c, nil
}

// statusOf always answers the same.
func statusOf(resp *pb.StatusResponse) func(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return func(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) { return resp, nil }
}
