package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
)

// install has the agent obtain a release and reports its progress.
func (s *session) install(ctx context.Context, database, version string, report func(text string)) error {
	stream, err := s.Client.Install(ctx, &pb.InstallRequest{RunId: s.RunID, Database: database, Version: version})
	if err != nil {
		return err
	}
	var got *results.Release
	for {
		progress, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && got != nil:
			report(fmt.Sprintf("%s has %s %s (%s)", s.Addr, got.Name, got.Version, got.Kind))
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("the install ended without a release")
		case err != nil:
			return err
		case len(progress.Release) > 0:
			if got, err = pb.ReadRecord[results.Release]("the release", progress.Release); err != nil {
				return err
			}
		default:
			report(s.Addr + ": " + progress.Text)
		}
	}
}
