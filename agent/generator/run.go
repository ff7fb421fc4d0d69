package generator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/contenders/across"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/loadwire"
)

// Run runs the connected step and streams its records.
func (v service) Run(req *pb.RunRequest, stream grpc.ServerStreamingServer[pb.RunResponse]) error {
	s, err := v.server.own(req.GetRunId())
	if err != nil {
		return err
	}
	if err := s.begin("Run", pb.LoadState_LOAD_STATE_RUNNING, pb.LoadState_LOAD_STATE_CONNECTED); err != nil {
		return err
	}
	return relay(stream.Context(), s, stream.Send, func(out *outbox[pb.RunResponse]) error {
		end, err := s.runNext(req, out)
		s.done(pb.LoadState_LOAD_STATE_PREPARED) // before control learns that it ended
		if err != nil {
			return err
		}
		m, err := loadwire.EndMessage(end)
		if err != nil {
			return err
		}
		out.last(&pb.RunResponse{Record: &pb.RunResponse_End{End: m}})
		return nil
	})
}

// FailBack has the connections of the running step go back to their first members.
func (v service) FailBack(ctx context.Context, req *pb.FailBackRequest) (*pb.FailBackResponse, error) {
	s, err := v.server.own(req.GetRunId())
	if err != nil {
		return nil, err
	}
	if err := s.use(); err != nil {
		return nil, err
	}
	defer s.work.Done()
	ctx, cancel := s.within(ctx)
	defer cancel()
	back, err := s.issuer.FailBack(ctx)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return &pb.FailBackResponse{Returned: int32(back.Returned), Away: int32(back.Away)}, nil
}

// runNext runs the connected step. An error says why the step cannot begin.
func (s *session) runNext(req *pb.RunRequest, out *outbox[pb.RunResponse]) (end issuer.End, err error) {
	defer recoveredIn(s.log, "Run", &err)
	ctx, stop := context.WithCancelCause(s.issuing)
	defer stop(nil)
	s.stepping(stop)
	defer s.stepping(nil)
	start, err := s.ready(req)
	if err != nil {
		return issuer.End{}, status.Error(codes.FailedPrecondition, errors.Join(err, s.issuer.Disconnect()).Error())
	}
	return s.step(ctx, start, out), nil
}

// furthestClock bounds the distance of the clock of control from that of this machine, and a start
// from now.
const furthestClock = 50 * 365 * 24 * time.Hour

// ready prepares the connected step, and returns when it starts in the clock of the records.
func (s *session) ready(req *pb.RunRequest) (start time.Time, err error) {
	if next := s.issuer.Next().Index; next != int(req.GetStep()) {
		return start, fmt.Errorf("the step must be the one that is connected, %d, got %d", next, req.GetStep())
	}
	ahead := time.Duration(req.GetOffsetNs())
	// Beyond this bound the seconds of the load would wrap around, and all seconds between would be
	// written.
	if ahead.Abs() > furthestClock {
		return start, fmt.Errorf("the clocks must differ by at most %v, got %v", furthestClock, ahead)
	}
	if away := time.Until(time.Unix(0, req.GetStartUnixNs()).Add(ahead)).Abs(); away > furthestClock {
		return start, fmt.Errorf("the start must be within %v, got one %v away", furthestClock, away)
	}
	if !s.issuer.Begun() {
		s.ahead = ahead
		s.issuer.Begin(s.clock.now().Add(-ahead), s.shown.progress())
	} else if err := s.issuer.Continue(req.GetPreviousRequests()); err != nil {
		return start, err
	}
	if req.GetForget() {
		s.issuer.Forget()
	}
	// The two clocks may have drifted apart since the first step.
	return time.Unix(0, req.GetStartUnixNs()).Add(ahead - s.ahead), nil
}

// step runs a step and sends its records.
func (s *session) step(ctx context.Context, start time.Time, out *outbox[pb.RunResponse]) issuer.End {
	s.records.out, s.records.shown = out, s.shown
	s.out.Store(out)
	sampling, sampled := context.WithCancel(context.WithoutCancel(s.issuing))
	var sampler sync.WaitGroup
	var sampleErr error
	sampler.Go(func() { sampleErr = s.sampler.Run(sampling, samples{s.lines, s.shown}) })
	end, err := s.issuer.Run(ctx, start, &s.records)
	sampled()
	sampler.Wait()
	if sampleErr != nil {
		s.log.Warn("some samples of this machine are missing or incomplete", "error", sampleErr)
	}
	held, since := s.issuer.Held()
	for _, piece := range across.Encode(held) {
		m := &pb.LoadHeld{ZeroUnixNs: s.clock.at(since).UnixNano(), Holdings: piece}
		err = errors.Join(err, out.put(&pb.RunResponse{Record: &pb.RunResponse_Held{Held: m}}))
	}
	end.Stopped, end.MembersGone = errors.Is(err, errStopped), errors.Is(err, load.ErrMembersGone)
	if err := load.Without(load.Without(err, errStopped), load.ErrMembersGone); err != nil {
		end.Error = plaintext.Joined(err.Error())
	}
	return end
}

// event sends an event about a connection in the running step.
func (s *session) event(kind string, member int, text string) {
	s.out.Load().offer(&pb.RunResponse{Record: &pb.RunResponse_Event{Event: &pb.LoadEvent{
		Kind: kind, Member: int32(member), Text: strings.ToValidUTF8(text, "\uFFFD"), UnixNs: s.clock.now().Add(-s.ahead).UnixNano(),
	}}})
}

var _ load.MemberSink = (*records)(nil)

// Second sends one second.
func (r *records) Second(s load.Second) error {
	r.shown.second(s)
	m, err := r.encoder.Second(s)
	if err != nil {
		return err
	}
	return r.out.put(&pb.RunResponse{Record: &pb.RunResponse_Second{Second: m}})
}

// Total ignores the total of a series: control computes totals from the seconds.
func (r *records) Total(load.Total) error { return nil }

// Member sends the histogram of one member.
func (r *records) Member(t load.MemberTotal) error {
	m, err := r.encoder.Member(t)
	if err != nil {
		return err
	}
	return r.out.put(&pb.RunResponse{Record: &pb.RunResponse_Member{Member: m}})
}
