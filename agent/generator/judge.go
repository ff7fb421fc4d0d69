package generator

import (
	"context"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/workload"
)

// answers returns a judge for the answers to this part, if control asks for judging.
func (s *session) answers(req *pb.PrepareRequest) (load.Watch, error) {
	if req.GetJudging() == nil {
		return nil, nil
	}
	spec, how := s.part.spec, req.GetJudging()
	if n := how.GetMostKeys(); n < 0 || n > math.MaxInt32 {
		return nil, fmt.Errorf("judge 0 to %d keys, got %d", math.MaxInt32, n)
	}
	l, err := judging.New(judging.Options{Spec: spec, Clients: spec.MostClients(), Weaker: how.GetWeaker(), MostKeys: int(how.GetMostKeys())})
	if err != nil {
		return nil, err
	}
	s.judging = l
	return l.Observe, nil
}

// longestBack bounds the time in which keys are read back.
const longestBack = 10 * time.Minute

// Judge stops judging answers, reads back the writes of this part, and streams the findings.
func (v service) Judge(req *pb.JudgeRequest, stream grpc.ServerStreamingServer[pb.JudgeResponse]) error {
	s, err := v.server.own(req.GetRunId())
	if err != nil {
		return err
	}
	back := judging.Back{
		Mode: workload.ReadMode(req.GetRead()), Connections: int(req.GetConnections()), Within: time.Duration(req.GetWithinNs()),
		Rate: req.GetRate(), Longest: time.Duration(req.GetLongestNs()),
	}
	if back.Connections < 1 || back.Connections > maxClients || back.Within < 0 || back.Within > longestBack {
		return status.Errorf(codes.InvalidArgument, "keys must be read back over 1 to %d connections, within 0 to %v, got %d and %v", maxClients, longestBack, back.Connections, back.Within)
	}
	if !(back.Rate >= 0 && back.Rate <= math.MaxInt32) || back.Longest < 0 {
		return status.Errorf(codes.InvalidArgument, "keys must be read back at 0 to %d in a second, the bound of a read must not be negative, got %v and %v", math.MaxInt32, back.Rate, back.Longest)
	}
	if err := s.begin("Judge", pb.LoadState_LOAD_STATE_PREPARED, pb.LoadState_LOAD_STATE_PREPARED, pb.LoadState_LOAD_STATE_CONNECTED); err != nil {
		return err
	}
	d, err := newDialer(s.part, req.GetMembers())
	l := s.judging
	if s.judging = nil; err != nil || l == nil {
		s.done(pb.LoadState_LOAD_STATE_PREPARED)
		if l == nil {
			return status.Error(codes.FailedPrecondition, "Judge: answers are not judged, or were")
		}
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return relay(stream.Context(), s, stream.Send, func(out *outbox[pb.JudgeResponse]) error {
		list, err := s.judge(l, back, d)
		s.done(pb.LoadState_LOAD_STATE_PREPARED)
		if err != nil {
			return status.Errorf(codes.Internal, "judge the answers: %v", err)
		}
		for _, m := range list {
			out.last(m)
		}
		return nil
	})
}

// judge returns the findings as messages.
func (s *session) judge(l *judging.Load, back judging.Back, d *connect.Dialer) (list []*pb.JudgeResponse, err error) {
	defer recoveredIn(s.log, "Judge", &err)
	report := l.End(s.issuing, back, func(ctx context.Context, n int) ([]database.Client, error) {
		conns, err := d.Open(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("read keys back: %w", err)
		}
		return conns, nil
	})
	return loadwire.ReportMessages(report)
}
