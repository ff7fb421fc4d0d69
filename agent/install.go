package agent

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
)

// Install obtains a release into the agent cache, unless it is there, and streams its progress.
// Calls for one release wait for each other, even on other agents with the same cache. An install
// whose call or session ends is cancelled and leaves no files.
func (v service) Install(req *pb.InstallRequest, stream grpc.ServerStreamingServer[pb.InstallProgress]) error {
	a := v.agent
	s, err := a.beginInstall(req.GetRunId())
	if err != nil {
		return err
	}
	defer a.wg.Done()
	db, err := a.opts.Registry.Get(req.GetDatabase())
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	recipes, err := db.Recipes(req.GetVersion())
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if a.opts.Cache == "" {
		return status.Error(codes.FailedPrecondition, "this agent has no cache to install into")
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	in := a.planner.installer(func(line string) {
		if err := stream.Send(&pb.InstallProgress{Text: line}); err != nil {
			cancel(err)
		}
	})
	r, err := in.Get(ctx, db.Name, database.PlainVersion(req.GetVersion()), recipes)
	if err != nil {
		return installFailed(ctx, err)
	}
	s.log.Info("installed", "database", r.Name, "version", r.Version, "kind", r.Kind, "source", r.Source)
	release, err := pb.Record("the release", releaseOf(&r))
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return stream.Send(&pb.InstallProgress{Release: release})
}

// beginInstall returns the open session of the run, and adds the install to the wait group: Close
// waits for it. The session must be open, so that no member is measured during a build.
func (a *Agent) beginInstall(run string) (*session, error) {
	s, err := a.own(run)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return nil, status.Error(codes.Unavailable, "the agent is closing")
	case s.now.state != pb.State_STATE_OPEN:
		return nil, status.Errorf(codes.FailedPrecondition, "the session is %s: releases are installed before the start", stateWord(s.now.state))
	}
	a.wg.Add(1)
	return s, nil
}

// installFailed is the answer to an install that failed.
func installFailed(ctx context.Context, err error) error {
	var ended reason
	if errors.As(context.Cause(ctx), &ended) {
		return status.Errorf(codes.Aborted, "the session stopped while installing: %s", ended)
	}
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Error(codes.FailedPrecondition, err.Error())
}
