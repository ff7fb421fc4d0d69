package issue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/results"
)

// errStopped is why there are no records of a part from an interrupted step.
var errStopped = errors.New("it was stopped before its step began")

// errEnded reports a stream that the generator ended by itself: its load was stopped, or its
// session is over.
var errEnded = errors.New("it ended its stream")

// run has the generator run its part of a step, and receives its records until the end.
func (g *generator) run(ctx context.Context, r running, out *intake) (*issuer.End, error) {
	clock, step := g.offset(), g.step()
	step.ClockOffsetNS, step.ClockErrorNS = clock.OffsetNS, clock.ErrorNS
	defer func() { step.ClockMovedNS = int64(g.moved()) }()
	stream, err := g.Client.Run(ctx, &pb.RunRequest{
		RunId: g.RunID, Step: int32(r.step.Index), StartUnixNs: g.set.unix(r.start), OffsetNs: clock.OffsetNS, PreviousRequests: r.previous, Forget: r.forget,
	})
	if err != nil {
		return nil, unfinished(ctx, err)
	}
	reader := &partReader{gen: g, out: out}
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil, unfinished(ctx, err)
		}
		if last, ok := m.GetRecord().(*pb.RunResponse_End); ok {
			// The generator has closed its connections when its stream ends.
			_, _ = stream.Recv()
			end, err := loadwire.EndOf(last.End)
			if err != nil {
				return nil, err
			}
			return g.over(end, r.step.Index, out)
		}
		if err := reader.take(m); err != nil {
			return nil, err
		}
	}
}

// over returns how a step ended. Without an end, the generator did not begin it.
func (g *generator) over(e issuer.End, step int, out *intake) (*issuer.End, error) {
	switch {
	case e.Result.Start.IsZero() && !e.Stopped:
		return nil, fmt.Errorf("it did not begin step %d: %s", step+1, e.Error)
	case e.Result.Start.IsZero():
		return &e, nil
	}
	if err := out.to.End(e.Result.Start, e.Result.End); err != nil {
		return nil, err
	}
	if e.Error != "" {
		return &e, fmt.Errorf("generator %s: %s", g.Addr, e.Error)
	}
	return &e, nil
}

// unfinished returns why a stream ended before its step.
func unfinished(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("its stream ended before its step")
	}
	if code := status.Code(err); ctx.Err() == nil && (code == codes.FailedPrecondition || code == codes.Aborted) {
		return fmt.Errorf("%w: %w", errEnded, broken(ctx, err))
	}
	return fmt.Errorf("its stream broke: %w", broken(ctx, err))
}

// partReader receives the records of one generator in one step.
type partReader struct {
	gen *generator
	out *intake
}

// take receives one record.
func (r *partReader) take(m *pb.RunResponse) error {
	switch record := m.GetRecord().(type) {
	case *pb.RunResponse_Second:
		return r.gen.set.decoders.Use(func(d *loadwire.Decoder) error {
			second, err := d.Second(record.Second)
			if err != nil {
				return err
			}
			return r.out.Second(second)
		})
	case *pb.RunResponse_Member:
		return r.gen.set.decoders.Use(func(d *loadwire.Decoder) error {
			total, err := d.Member(record.Member)
			if err != nil {
				return err
			}
			return r.out.Member(total)
		})
	case *pb.RunResponse_Writes:
		if w := r.gen.set.relay; w != nil {
			return w.take(r.gen.index, record.Writes)
		}
	case *pb.RunResponse_Held:
		return r.gen.hold(record.Held)
	case *pb.RunResponse_Event:
		e := record.Event
		r.gen.set.opts.Event(results.Event{Time: time.Unix(0, e.GetUnixNs()).UTC(), Kind: e.GetKind(), Member: int(e.GetMember()), Text: fmt.Sprintf("generator %s: %s", r.gen.Addr, e.GetText())})
	case *pb.RunResponse_Samples:
		r.gen.samples.write(r.gen.set.opts.Dir, r.gen.index, record.Samples)
		r.gen.sampled(record.Samples)
	}
	return nil
}

// sampled passes samples to Options.Sample. Other lines go only to the file.
func (g *generator) sampled(lines []byte) {
	show := g.set.opts.Sample
	if show == nil {
		return
	}
	if !bytes.HasPrefix(lines, g.samples.header) {
		lines = slices.Concat(g.samples.header, lines)
	}
	if s, err := results.ParseSample(lines); err == nil {
		show(g.index, s)
	}
}
