package generators

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/load/merge"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// errStopped is why a part has no records of a step that was interrupted.
var errStopped = errors.New("it was stopped before its step began")

// errEnded is that a generator ended its stream by itself: its load was stopped, or its
// session is over.
var errEnded = errors.New("it ended its stream")

// follow has a generator issue its part of a step and merges what it sends. It returns nil
// if the generator was lost, and the error that the step had there.
func (s *Set) follow(ctx context.Context, g *generator, step load.Step, start time.Time) (*loadwire.End, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g.steps(cancel)
	defer g.steps(nil)
	clock := g.offset()
	g.record.Steps = append(g.record.Steps, results.GeneratorStep{
		Index: step.Index, Clients: g.clients, FirstSentNS: -1, CPUNS: -1, ClockOffsetNS: clock.OffsetNS, ClockErrorNS: clock.ErrorNS,
	})
	g.sent = false
	end, err := s.read(ctx, g, &pb.RunRequest{
		RunId: g.runID, Step: int32(step.Index), StartUnixNs: s.unix(start), OffsetNs: clock.OffsetNS, PreviousRequests: s.previous,
	}, step.Rate > 0)
	g.record.Steps[len(g.record.Steps)-1].ClockMovedNS = int64(g.moved())
	switch {
	case errors.Is(err, errEnded) && !g.sent && s.stopping.Load(): // it was stopped before it was asked to run
		s.merger.Part(g.index).Lost(errStopped)
		return nil, nil
	case err != nil:
		s.lose(g, err)
		return nil, nil
	case end.Result.Start.IsZero() && !end.Stopped:
		s.lose(g, fmt.Errorf("it did not begin step %d: %s", step.Index+1, end.Error))
		return nil, nil
	case end.Result.Start.IsZero():
		s.merger.Part(g.index).Lost(errStopped)
	case end.Error != "":
		err = fmt.Errorf("generator %s: %s", g.addr, end.Error)
	}
	g.finish(end)
	return end, err
}

// read has a generator run its part of a step, and reads its records up to the end. Rated
// is whether the step has a rate.
func (s *Set) read(ctx context.Context, g *generator, req *pb.RunRequest, rated bool) (*loadwire.End, error) {
	stream, err := g.client.Run(ctx, req)
	if err != nil {
		return nil, unfinished(ctx, err)
	}
	reader := &partReader{set: s, gen: g, part: s.merger.Part(g.index), rated: rated}
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil, unfinished(ctx, err)
		}
		if end, ok := m.GetRecord().(*pb.RunResponse_End); ok {
			e := loadwire.EndOf(end.End)
			if !e.Result.Start.IsZero() {
				err = reader.part.End(e.Result.Start, e.Result.End)
			}
			// The generator has closed its connections when its stream ends.
			_, _ = stream.Recv()
			return &e, err
		}
		if err := reader.take(m); err != nil {
			return nil, err
		}
	}
}

// unfinished is why a stream ended before its step.
func unfinished(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("its stream ended before its step")
	}
	if code := status.Code(err); ctx.Err() == nil && (code == codes.FailedPrecondition || code == codes.Aborted) {
		return fmt.Errorf("%w: %w", errEnded, broken(ctx, err))
	}
	return fmt.Errorf("its stream broke: %w", broken(ctx, err))
}

// partReader takes the records of one generator in one step.
type partReader struct {
	set   *Set
	gen   *generator
	part  *merge.Part
	rated bool
	dec   loadwire.Decoder
}

// take takes one record.
func (r *partReader) take(m *pb.RunResponse) error {
	switch record := m.GetRecord().(type) {
	case *pb.RunResponse_Second:
		second, err := r.dec.Second(record.Second)
		if err == nil {
			err = r.part.Second(second)
		}
		if err != nil {
			return err
		}
		r.gen.sent = true
		r.gen.count(second.Intervals, r.rated)
	case *pb.RunResponse_Member:
		total, err := r.dec.Member(record.Member)
		if err != nil {
			return err
		}
		return r.part.Member(total)
	case *pb.RunResponse_Event:
		e := record.Event
		r.set.opts.Event(results.Event{Time: time.Unix(0, e.GetUnixNs()).UTC(), Kind: e.GetKind(), Member: int(e.GetMember()), Text: fmt.Sprintf("generator %s: %s", r.gen.addr, e.GetText())})
	case *pb.RunResponse_Samples:
		r.gen.samples.write(r.set.opts.Dir, r.gen.index, record.Samples)
	}
	return nil
}

// count adds rows that were merged to the generator's record.
func (g *generator) count(rows []results.Interval, rated bool) {
	if g.record.Totals == nil {
		g.record.Totals = &results.Totals{}
	}
	timing := results.TimingService
	if rated {
		timing = results.TimingResponse
	}
	step := &g.record.Steps[len(g.record.Steps)-1]
	for i := range rows {
		row := &rows[i]
		g.record.Totals.Add(row)
		if row.Phase == results.PhaseMeasure {
			step.Due += row.OK + row.Failed + row.Unknown + row.Shed + row.Unsent
			step.OK += row.OK
			step.Late += row.Late
			step.AnswerNS += row.Latency(timing, workload.OK).SumNS
		}
	}
}

// finish records how a step ended.
func (g *generator) finish(e *loadwire.End) {
	g.ended = *e
	step := &g.record.Steps[len(g.record.Steps)-1]
	step.FirstSentNS, step.CPUNS, step.ClientDelayNS = max(int64(e.FirstSent), -1), max(int64(e.CPU), -1), int64(e.Result.ClientDelay)
	g.record.SchedulingLag, g.record.Lateness = spread(e.SchedulingLag), spread(e.Lateness)
	stops := e.Stops
	g.record.Stops = &stops
	if t := g.record.Totals; t != nil {
		t.BytesRead, t.Clamped = e.Totals.BytesRead, e.Totals.Clamped
	}
}

// spread returns nil for a spread without samples.
func spread(s results.Spread) *results.Spread {
	if s.N == 0 {
		return nil
	}
	return &s
}

// samplesFile holds the samples of a generator's machine, as it sends them. What fails here
// fails on control's machine: the generator is not lost because of it, and the file keeps
// what it has.
type samplesFile struct {
	file   *os.File // nil before the first
	header []byte   // its first line
	err    error    // why the rest is missing
}

// write appends whole lines, unless that failed before.
func (f *samplesFile) write(dir string, index int, lines []byte) {
	if dir != "" && len(lines) > 0 && f.err == nil {
		f.err = f.append(dir, index, lines)
	}
}

// append appends whole lines. Each step of a generator begins with the header.
func (f *samplesFile) append(dir string, index int, lines []byte) error {
	if f.file == nil {
		path := filepath.Join(Folder(dir, index), results.FileClient)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		var err error
		if f.file, err = os.Create(path); err != nil {
			return err
		}
		f.header = bytes.Clone(lines[:bytes.IndexByte(lines, '\n')+1])
	} else {
		lines = bytes.TrimPrefix(lines, f.header)
	}
	_, err := f.file.Write(lines)
	return err
}

func (f *samplesFile) close() error {
	if f.file == nil {
		return nil
	}
	defer func() { f.file = nil }()
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("write samples on control's machine: %w", err)
	}
	return nil
}
