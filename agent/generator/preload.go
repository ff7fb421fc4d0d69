package generator

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/issuer"
)

// Preload writes the keys of this part that exist before the load.
func (v service) Preload(req *pb.PreloadRequest, stream grpc.ServerStreamingServer[pb.PreloadProgress]) error {
	s, err := v.server.own(req.GetRunId())
	if err != nil {
		return err
	}
	if c := req.GetClients(); c < 1 || c > maxClients || req.GetConnections() < 1 || req.GetConnections() > c || req.GetPerRequest() < 0 {
		return status.Errorf(codes.InvalidArgument, "a preload must have 1 to %d clients and a connection for each at most, got %d and %d, %d keys in a request",
			maxClients, c, req.GetConnections(), req.GetPerRequest())
	}
	if err := s.begin("Preload", pb.LoadState_LOAD_STATE_PRELOADING, pb.LoadState_LOAD_STATE_PREPARED); err != nil {
		return err
	}
	d, err := newDialer(s.part, req.GetMembers())
	if err != nil {
		s.done(pb.LoadState_LOAD_STATE_PREPARED)
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return relay(stream.Context(), s, stream.Send, func(out *outbox[pb.PreloadProgress]) error {
		p := &written{out: out, many: req.GetPerRequest() > 1}
		err := s.preload(d, req, p)
		s.done(pb.LoadState_LOAD_STATE_PREPARED) // before control learns that it ended
		if err != nil {
			if cause := context.Cause(s.issuing); cause != nil {
				return status.Errorf(codes.Aborted, "write keys before the load: %v", cause)
			}
			return status.Error(codes.Unavailable, err.Error())
		}
		out.last(&pb.PreloadProgress{Keys: p.keys})
		return nil
	})
}

// preload writes the keys of this part.
func (s *session) preload(d *connect.Dialer, req *pb.PreloadRequest, progress *written) (err error) {
	defer recoveredIn(s.log, "Preload", &err)
	how := issuer.Preload{Clients: int(req.GetClients()), Connections: int(req.GetConnections()), PerRequest: int(req.GetPerRequest())}
	return s.issuer.Preload(s.issuing, d, how, progress.reach)
}

// written reports the number of written keys, and the request outcomes in each second.
type written struct {
	out *outbox[pb.PreloadProgress]
	// many reports whether a request writes many keys: then each request reports, not each
	// second.
	many bool

	mu   sync.Mutex // guards the fields below
	keys int64
	sent time.Time
}

// reach records the progress. It is safe for concurrent use.
func (w *written) reach(p load.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys = max(w.keys, p.Done)
	if !w.many || time.Since(w.sent) >= time.Second {
		w.sent = time.Now()
		w.out.offer(&pb.PreloadProgress{Keys: w.keys, Ended: p.Ended, Faulty: p.Faulty, InFlight: p.InFlight, P99Ns: int64(p.P99)})
	}
}
