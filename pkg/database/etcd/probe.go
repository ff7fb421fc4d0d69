package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/pkg/database"
)

// toEnd as the end of a range means every key from the first on; as both ends it
// means every key there is.
const toEnd = "\x00"

// Ready asks one member for its status and for a linearizable read: it knows a
// leader, and that leader heard from a quorum.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	return ask(t, member, func(conn *grpc.ClientConn) error {
		status, err := pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{})
		switch {
		case err != nil:
			return fmt.Errorf("status of etcd member %d: %w", member, classify(err, false))
		case status.Leader == 0:
			return fmt.Errorf("etcd member %d knows no leader", member)
		}
		if _, err := pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: []byte(toEnd)}); err != nil {
			return fmt.Errorf("linearizable read of etcd member %d: %w", member, classify(err, false))
		}
		return nil
	})
}

// Version returns the version that a member says it runs.
func (o *Options) Version(ctx context.Context, t database.Target, member int) (string, error) {
	status, err := statusOf(ctx, t, member)
	if err != nil {
		return "", err
	}
	return status.Version, nil
}

// Leader asks every endpoint at once and returns the member that those with the
// newest term call leader. It fails if that member is not among those asked.
func (o *Options) Leader(ctx context.Context, t database.Target) (int, error) {
	answers := make([]*pb.StatusResponse, len(t.Endpoints))
	errs := make([]error, len(t.Endpoints))
	var wg sync.WaitGroup
	for i := range t.Endpoints {
		wg.Go(func() { answers[i], errs[i] = statusOf(ctx, t, i) })
	}
	wg.Wait()
	return leaderOf(answers, errors.Join(errs...))
}

func leaderOf(answers []*pb.StatusResponse, unasked error) (int, error) {
	var leader, term uint64
	for _, a := range answers {
		if a != nil && a.Leader != 0 && a.RaftTerm >= term {
			leader, term = a.Leader, a.RaftTerm
		}
	}
	if leader == 0 {
		return 0, errors.Join(errors.New("no etcd member knows a leader"), unasked)
	}
	for i, a := range answers {
		if a != nil && a.Header.MemberId == leader {
			return i, nil
		}
	}
	return 0, errors.Join(fmt.Errorf("the etcd leader %x answers at none of the endpoints", leader), unasked)
}

// CountKeys counts every key with one linearizable read. Any member may answer.
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	t.Prefer = -1
	conn, err := connect(t)
	if err != nil {
		return 0, fmt.Errorf("count etcd keys: %w", err)
	}
	resp, err := pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: []byte(toEnd), RangeEnd: []byte(toEnd), CountOnly: true})
	if err = errors.Join(classify(err, false), conn.Close()); err != nil {
		return 0, fmt.Errorf("count etcd keys: %w", err)
	}
	return resp.Count, nil
}

func statusOf(ctx context.Context, t database.Target, member int) (status *pb.StatusResponse, err error) {
	err = ask(t, member, func(conn *grpc.ClientConn) error {
		status, err = pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{})
		if err != nil {
			return fmt.Errorf("status of etcd member %d: %w", member, classify(err, false))
		}
		return nil
	})
	return status, err
}

// ask calls f with a connection to one member.
func ask(t database.Target, member int, f func(*grpc.ClientConn) error) error {
	t.Prefer = member
	conn, err := connect(t)
	if err != nil {
		return err
	}
	return errors.Join(f(conn), conn.Close())
}
