package generator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/results"
)

// Run runs the step that is connected and streams its records.
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
		s.done(pb.LoadState_LOAD_STATE_PREPARED) // before control learns of the end
		if err != nil {
			return err
		}
		out.last(&pb.RunResponse{Record: &pb.RunResponse_End{End: loadwire.EndMessage(end)}})
		return nil
	})
}

// runNext runs the step that is connected. An error is why it can't begin.
func (s *session) runNext(req *pb.RunRequest, out *outbox[pb.RunResponse]) (end loadwire.End, err error) {
	defer recoveredIn(s.log, "Run", &err)
	step, err := s.issuer.ready(s.part, &s.clock, req)
	if err != nil {
		return loadwire.End{}, status.Error(codes.FailedPrecondition, errors.Join(err, s.issuer.disconnect()).Error())
	}
	return s.step(step, out), nil
}

// issuer has what issues the load. One verb uses it at a time, except clients.
type issuer struct {
	samples *samples
	clients atomic.Int64 // of this part in the last step
	// What Connect left for Run; nil before and after.
	conns  []database.Client
	dialer *connect.Dialer
	next   load.Step
	// records, recorder and engine are those of all steps; nil before the first. The
	// session's clock is ahead of the recorder's.
	records  *records
	recorder *load.Recorder
	engine   *load.Engine
	ahead    time.Duration
}

// ready returns the step to run, with its start in the recorder's clock.
func (i *issuer) ready(p *part, clock *sessionClock, req *pb.RunRequest) (load.Step, error) {
	step := i.next
	if step.Index != int(req.GetStep()) {
		return step, fmt.Errorf("the step must be the one that is connected, %d, got %d", step.Index, req.GetStep())
	}
	ahead := time.Duration(req.GetOffsetNs())
	if i.engine == nil {
		i.ahead, i.records = ahead, &records{}
		i.recorder = load.NewRecorderAt(clock.now().Add(-ahead), i.records, p.spec.Operations(), nil)
		i.engine = load.NewEngine(p.spec, i.recorder)
	} else if err := i.engine.Continue(req.GetPreviousRequests()); err != nil {
		return step, err
	}
	// Both clocks may have drifted apart since the first step.
	step.Start = time.Unix(0, req.GetStartUnixNs()).Add(ahead - i.ahead)
	return step, nil
}

// disconnect closes the connections of a step.
func (i *issuer) disconnect() error {
	conns := i.conns
	i.conns, i.dialer = nil, nil
	return database.CloseAll(conns)
}

// close frees all. Nothing uses the issuer any more.
func (i *issuer) close() error {
	err := i.disconnect()
	if i.samples != nil {
		err = errors.Join(err, i.samples.close())
	}
	return err
}

// step runs a step, puts out its records, and closes its connections.
func (s *session) step(step load.Step, out *outbox[pb.RunResponse]) loadwire.End {
	i := &s.issuer
	step.Dial, step.Reconnect = i.dialer.Single, s.reconnect(i.dialer, out)
	i.records.out = out
	sampling, sampled := context.WithCancel(context.WithoutCancel(s.issuing))
	var sampler sync.WaitGroup
	var sampleErr error
	sampler.Go(func() { sampleErr = i.samples.run(sampling, out) })
	before := processorTime()
	res, err := i.engine.Step(s.issuing, step, i.conns)
	end := loadwire.End{Result: res, FirstSent: -1, CPU: -1, Stopped: errors.Is(err, errStopped), MembersGone: errors.Is(err, load.ErrMembersGone)}
	if after := processorTime(); before >= 0 && after >= before {
		end.CPU = after - before
	}
	sampled()
	sampler.Wait()
	if sampleErr != nil {
		s.log.Warn("some samples of this machine are missing or incomplete", "error", sampleErr)
	}
	err = errors.Join(without(without(err, errStopped), load.ErrMembersGone), i.disconnect())
	if err != nil {
		end.Error = strings.Join(strings.Fields(err.Error()), " ")
	}
	if !res.FirstSent.IsZero() {
		end.FirstSent = res.FirstSent.Sub(step.Start)
	}
	rec := i.recorder
	end.Totals, end.SchedulingLag, end.Lateness, end.Stops = rec.Totals(), rec.SchedulingLag(), rec.Lateness(), rec.Stops()
	end.CreatedSurely, end.CreatedPerhaps = rec.Created()
	return end
}

// reconnect returns how a step's connections are replaced. The first loss and the first
// replacement are events.
func (s *session) reconnect(d *connect.Dialer, out *outbox[pb.RunResponse]) *load.Reconnect {
	var lost, opened sync.Once
	event := func(kind string, member int, text string) {
		now := s.clock.now().Add(-s.issuer.ahead)
		out.offer(&pb.RunResponse{Record: &pb.RunResponse_Event{Event: &pb.LoadEvent{
			Kind: kind, Member: int32(member), Text: strings.ToValidUTF8(text, "\uFFFD"), UnixNs: now.UnixNano(),
		}}})
	}
	return &load.Reconnect{
		Members: d.Members,
		Dial:    d.Member,
		Lost: func(member int, err error) {
			lost.Do(func() { event(results.EventConnectionLost, member, err.Error()) })
		},
		Opened: func(member int) { opened.Do(func() { event(results.EventReconnected, member, "") }) },
		Gone:   func() bool { return s.allLost(d.Members) },
	}
}

// processorTime is what this process has used so far, user and system; -1 if unknown.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return -1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// without returns err without one of the errors that it joins.
func without(err, other error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if errors.Is(err, other) {
			return nil
		}
		return err
	}
	var rest []error
	for _, e := range joined.Unwrap() {
		rest = append(rest, without(e, other))
	}
	return errors.Join(rest...)
}

// records is the sink of the recorder. It sends what the recorder makes as messages.
type records struct {
	encoder loadwire.Encoder
	out     *outbox[pb.RunResponse] // of the present step
}

var _ load.MemberSink = (*records)(nil)

// Second sends one second.
func (r *records) Second(s load.Second) error {
	m, err := r.encoder.Second(s)
	if err != nil {
		return err
	}
	return r.out.put(&pb.RunResponse{Record: &pb.RunResponse_Second{Second: m}})
}

// Total ignores the total of a series: control makes totals of the seconds.
func (r *records) Total(load.Total) error { return nil }

// Member sends the histogram of one member.
func (r *records) Member(t load.MemberTotal) error {
	m, err := r.encoder.Member(t)
	if err != nil {
		return err
	}
	return r.out.put(&pb.RunResponse{Record: &pb.RunResponse_Member{Member: m}})
}
