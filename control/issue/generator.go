package issue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

func newGenerator(index int, addr, runID string) *generator {
	g := &generator{Session: remote.Session[pb.GeneratorClient]{Kind: "generator", Addr: addr, RunID: runID}}
	g.part = &part{issuer: g, index: index, record: results.Generator{Addr: addr}}
	return g
}

// The time that a generator may take to answer.
const (
	// prepareTimeout is for a Prepare, which may measure whether the machine can issue its part.
	prepareTimeout = 2 * time.Minute
	// connectTimeout is for opening all connections in a part.
	connectTimeout = 5 * time.Minute
	// closeTimeout is for a CloseLoad, which awaits requests in flight.
	closeTimeout = 30 * time.Second
)

// prepare reserves the generator for its part of a load.
func (g *generator) prepare(ctx context.Context, whole *pb.PrepareRequest) error {
	request := proto.Clone(whole).(*pb.PrepareRequest)
	request.Part = int32(g.index)
	var reply *pb.PrepareResponse
	err := g.Reserve(ctx, prepareTimeout, func(ctx context.Context) (err error) {
		reply, err = g.Client.Prepare(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	if g.record.Host, err = remote.HostOf(reply.GetHost()); err != nil {
		return fmt.Errorf("%s: %w", g.part, err)
	}
	if data := reply.GetSelfCheck(); len(data) > 0 {
		g.record.SelfCheck = &results.LoadCheck{}
		if err := json.Unmarshal(data, g.record.SelfCheck); err != nil {
			return fmt.Errorf("generator %s: decode its self-check: %w", g.Addr, err)
		}
	}
	return nil
}

// preload has the generator write its share of the keys.
func (g *generator) preload(ctx context.Context, p Preload, progress func(load.Progress)) error {
	stream, err := g.Client.Preload(ctx, &pb.PreloadRequest{
		RunId: g.RunID, Clients: int32(p.Clients), Connections: int32(p.Connections), PerRequest: int32(p.PerRequest), Members: indexes(p.Members),
	})
	if err != nil {
		return g.Failed(ctx, err)
	}
	for {
		switch m, err := stream.Recv(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return g.Failed(ctx, err)
		default:
			progress(load.Progress{
				Done: m.GetKeys(), Ended: m.GetEnded(), Faulty: m.GetFaulty(), InFlight: m.GetInFlight(), P99: time.Duration(m.GetP99Ns()),
			})
		}
	}
}

// connect opens the connections for this part. If the generator cannot be reached, or no longer has
// a session for this load, it is lost, which is no error.
func (g *generator) connect(ctx context.Context, step load.Step, keep bool, targets []int) (int, *refusal, error) {
	m, err := loadwire.StepMessage(step)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", g.part, err)
	}
	own, cancel := remote.Within(ctx, connectTimeout)
	defer cancel()
	own, end := context.WithCancelCause(own)
	defer end(nil)
	g.calls(end)
	defer g.calls(nil)
	reply, err := g.Client.Connect(own, &pb.ConnectRequest{RunId: g.RunID, Step: m, Members: indexes(targets), Keep: keep})
	switch {
	case err == nil:
		var refused *refusal
		if r := reply.GetRefused(); r != nil {
			refused = &refusal{&connect.RefusedError{Member: int(r.GetMember()), Err: errors.New(r.GetText())}, r.GetLost()}
		}
		return int(reply.GetClients()), refused, nil
	case ctx.Err() == nil && (own.Err() != nil || slices.Contains(absent, status.Code(err))):
		g.set.lose(g.part, broken(own, err))
		return 0, nil, nil
	}
	return 0, nil, g.Failed(own, err)
}

// absent are the statuses for generators that cannot be reached, whose session ended, or that
// another run has reserved meanwhile.
var absent = []codes.Code{codes.Unavailable, codes.Aborted, codes.FailedPrecondition, codes.PermissionDenied}

// close ends the session, if there may be one, and the connection.
func (g *generator) close(ctx context.Context) (*results.LoadSessions, error) {
	err := g.samples.close()
	defer g.Disconnect()
	sessions, err2 := g.giveBack(ctx)
	return sessions, errors.Join(err, err2)
}

// giveBack ends the session, if there may be one. The error is nil for a lost generator.
func (g *generator) giveBack(ctx context.Context) (*results.LoadSessions, error) {
	if !g.Reserved {
		return nil, nil
	}
	within := closeTimeout
	if g.set.spec.Any(workload.Op.OfSessions) {
		within += issuer.EndTimeout
	}
	ctx, cancel := remote.Within(ctx, within)
	defer cancel()
	g.Reserved = false
	reply, err := g.Client.CloseLoad(ctx, &pb.CloseLoadRequest{RunId: g.RunID})
	switch {
	case err != nil && g.lostBy() == nil:
		return nil, g.Failed(ctx, err)
	case err != nil || len(reply.GetSessions()) == 0:
		return nil, nil
	}
	sessions := &results.LoadSessions{}
	if err := json.Unmarshal(reply.GetSessions(), sessions); err != nil {
		return nil, fmt.Errorf("generator %s: decode its sessions: %w", g.Addr, err)
	}
	return sessions, nil
}

// summary returns the record with the results of the heartbeats.
func (g *generator) summary() results.Generator {
	r := g.record
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost != nil {
		r.Lost = g.lost.Error()
	}
	if all := &g.clock.all; all.N() > 0 {
		clock := remote.ClockOf(all)
		r.Clock = &clock
		r.ClockSet = g.clock.set
	}
	return r
}
