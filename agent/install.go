package agent

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// Install refuses: no database of this agent has an installer.
func (v service) Install(req *pb.InstallRequest, _ grpc.ServerStreamingServer[pb.InstallProgress]) error {
	if _, err := v.agent.own(req.GetRunId()); err != nil {
		return err
	}
	db, err := v.agent.opts.Registry.Get(req.GetDatabase())
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return status.Errorf(codes.Unimplemented, "database %q cannot be installed by its agent: install it on the machine", db.Name)
}
