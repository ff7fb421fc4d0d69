package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/control/fleet/claim"
	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/process/resources"
)

// Install has all agents obtain a release at once and reports their progress.
func (f *Fleet) Install(ctx context.Context, database, version string) error {
	return f.each(func(s *session) error {
		ctx, cancel := remote.Within(ctx, installTimeout)
		defer cancel()
		if err := s.install(ctx, database, version, f.opts.Report); err != nil {
			return s.Failed(ctx, err)
		}
		return nil
	})
}

// Start has all agents start their members at once. request returns the request for a member.
// Start fills in the run id. The answers are by member, nil where an agent failed.
func (f *Fleet) Start(ctx context.Context, request func(member int) *pb.StartRequest) ([]*pb.StartResponse, error) {
	return f.start(ctx, request, startTimeout)
}

// Check calls Start without its effects: agents only plan and check their members.
func (f *Fleet) Check(ctx context.Context, request func(member int) *pb.StartRequest) ([]*pb.StartResponse, error) {
	dry := func(member int) *pb.StartRequest {
		req := request(member)
		req.DryRun = true
		return req
	}
	return f.start(ctx, dry, remote.CallTimeout)
}

func (f *Fleet) start(ctx context.Context, request func(member int) *pb.StartRequest, timeout time.Duration) ([]*pb.StartResponse, error) {
	replies := make([]*pb.StartResponse, len(f.sessions))
	err := f.each(func(s *session) (err error) {
		ctx, cancel := remote.Within(ctx, timeout)
		defer cancel()
		req := request(s.index)
		req.RunId = s.RunID
		if replies[s.index], err = s.Client.Start(ctx, req); err != nil {
			return s.Failed(ctx, err)
		}
		return nil
	})
	return replies, err
}

// reasonAsked is the reason for sessions that ended on request.
const reasonAsked = "asked"

// gone is why a session is over if its agent does not know it.
const gone = "its agent no longer knows this run"

// Stopped describes how a member ended.
type Stopped struct {
	// Exit holds a line for each process, such as "etcd: exit 0 after interrupt".
	Exit []string
	// ApparentBytes and AllocatedBytes are the sizes of the data directories; -1 if they were not
	// measured.
	ApparentBytes, AllocatedBytes int64
	// Error is why the member ended without a request to stop, else "".
	Error string
	// Use is the part of its limits that the member used; nil if it had no limits.
	Use *resources.Use
	// Problems name the records that the agent could not write.
	Problems []string
}

// Stop has the agents stop their members, a quarter of the remaining members at once, so up to
// seven members stop one after the other. A leader that ends tries to hand over leadership, and
// would wait for partners that are stopping too. stopped is called after each member has ended, by
// this goroutine. If a member ended by itself, it is lost.
func (f *Fleet) Stop(ctx context.Context, stopped func(member int, how Stopped)) error {
	expected := f.watching.Swap(false)
	left := slices.DeleteFunc(slices.Clone(f.sessions), func(s *session) bool { return !s.Reserved })
	var errs []error
	for len(left) > 0 {
		n := max(len(left)/4, 1)
		some := left[:n]
		left = left[n:]
		ends := make([]Stopped, len(f.sessions))
		for i, err := range claim.Each(some, func(s *session) (err error) {
			ends[s.index], err = f.stop(ctx, s, expected)
			return err
		}) {
			if member := some[i].index; err != nil {
				errs = append(errs, fmt.Errorf("stop member %d: %w", member+1, err))
			} else {
				stopped(member, ends[member])
			}
		}
	}
	return errors.Join(errs...)
}

// stop stops one member. expected reports whether the member was last seen running.
func (f *Fleet) stop(ctx context.Context, s *session, expected bool) (Stopped, error) {
	ctx, cancel := remote.Within(ctx, stopTimeout)
	defer cancel()
	reply, err := s.Client.Stop(ctx, &pb.StopRequest{RunId: s.RunID})
	if err != nil {
		return Stopped{}, s.Failed(ctx, err)
	}
	s.ended = true
	how := Stopped{ApparentBytes: reply.ApparentBytes, AllocatedBytes: reply.AllocatedBytes, Problems: reply.Problems}
	if how.Use, err = pb.ReadRecord[resources.Use]("the use of the limits", reply.Use); err != nil {
		how.Problems = append(how.Problems, err.Error())
	}
	for _, child := range reply.Children {
		how.Exit = append(how.Exit, child.Name+": "+child.Exit)
	}
	if reason := cmp.Or(reply.Reason, gone); reason != reasonAsked {
		how.Error = reason
		if expected { // and no heartbeat noticed
			f.opts.Losses.Add(s.index, obituary(endOf(reply.Reason, reply.Children), reply.Children))
		}
	}
	return how, nil
}

// Collect fetches the files of all sessions into dir at once, each under its member number, and
// returns their names by member, even after an error. It returns no names for a stopped member if a
// file cannot be written there: [Fleet.Retrieve] can fetch all its files after Close.
func (f *Fleet) Collect(ctx context.Context, dir string) ([][]string, error) {
	names := make([][]string, len(f.sessions))
	err := f.each(func(s *session) (err error) {
		if s.Reserved {
			names[s.index], err = s.collect(ctx, dir)
		}
		switch {
		case err == nil:
		case s.ended && unwritten(err):
			names[s.index], s.kept = nil, true
		default:
			s.unfetched = true
		}
		return err
	})
	return names, err
}

// DeadError reports a member that will never be ready. It is not polled further.
type DeadError struct{ Text string }

func (e *DeadError) Error() string { return e.Text }

// Probe asks the agent of a member whether the member is ready. The error is the reason if it is
// not. It is a [*DeadError] if the member no longer runs, or if its agent has refused probes for a
// while. The caller bounds ctx and makes one probe at a time for each member.
func (f *Fleet) Probe(ctx context.Context, member int) error {
	s := f.sessions[member]
	reply, err := s.Client.Status(ctx, &pb.StatusRequest{Probe: true, RunId: s.RunID})
	if status.Code(err) != codes.Unavailable {
		s.silent = time.Time{}
	} else if s.silent.IsZero() {
		s.silent = time.Now()
	}
	switch {
	case err != nil && !s.silent.IsZero() && time.Since(s.silent) >= silentTimeout:
		return &DeadError{fmt.Sprintf("member %d: its agent did not answer for %v: %v", member+1, silentTimeout, s.Failed(ctx, err))}
	case err != nil:
		return s.Failed(ctx, err)
	case s.belongs(reply) != nil:
		return &DeadError{fmt.Sprintf("member %d is gone: %v", member+1, s.belongs(reply))}
	case reply.State == pb.State_STATE_STOPPED:
		why := endOf(reply.Reason, reply.Children)
		return &DeadError{fmt.Sprintf("member %d on %s is gone: %s", member+1, s.Addr, obituary(why, reply.Children))}
	case !reply.Ready:
		return errors.New(reply.NotReady)
	}
	return nil
}
