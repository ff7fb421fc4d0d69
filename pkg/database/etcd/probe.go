package etcd

import (
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

// Ready requests one member's status and a linearizable read. Both succeed only if the member knows
// a leader that has a quorum.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	return ask(t, member, func(conn *grpc.ClientConn) error {
		status, err := pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{})
		switch {
		case err != nil:
			return fmt.Errorf("status of etcd member %d: %w", member, answer.Classify(err, false))
		case status.Leader == 0:
			return fmt.Errorf("etcd member %d knows no leader", member)
		}
		key, _ := span(t.KeyPrefix()) // a user of the prefix may read it
		if _, err := pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: key}); err != nil {
			return fmt.Errorf("linearizable read of etcd member %d: %w", member, answer.Classify(err, false))
		}
		return nil
	})
}

// Version returns the version a member reports.
func (o *Options) Version(ctx context.Context, t database.Target, member int) (string, error) {
	status, err := statusOf(ctx, t, member)
	if err != nil {
		return "", err
	}
	return status.Version, nil
}

// Leader queries the endpoints in parallel, until most agree, and returns the leader
// that the answers with the newest term name. It fails if that member is not among the endpoints.
func (o *Options) Leader(ctx context.Context, t database.Target) (int, error) {
	answers, err := database.AskMembers(ctx, len(t.Endpoints), func(ctx context.Context, member int) (*pb.StatusResponse, error) {
		return statusOf(ctx, t, member)
	}, agree)
	return leaderOf(answers, err)
}

// WatchLeader finds the leader as Leader does, over one connection to each member. A
// password check costs a member about 70 ms of CPU time; a connection needs it only once.
func (o *Options) WatchLeader(t database.Target) (leader func(context.Context) (int, error), closeAll func() error, err error) {
	conns := make([]*grpc.ClientConn, len(t.Endpoints))
	closeAll = func() error {
		var errs []error
		for _, c := range conns {
			if c != nil {
				errs = append(errs, c.Close())
			}
		}
		return errors.Join(errs...)
	}
	for member := range conns {
		t.Prefer = member
		if conns[member], err = connect(t); err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
	}
	ask := func(ctx context.Context, member int) (*pb.StatusResponse, error) {
		status, err := pb.NewMaintenanceClient(conns[member]).Status(ctx, &pb.StatusRequest{})
		return status, answer.Classify(err, false)
	}
	return func(ctx context.Context) (int, error) {
		answers, err := database.AskMembers(ctx, len(conns), ask, agree)
		return leaderOf(answers, err)
	}, closeAll, nil
}

// agree reports whether most members name the same leader in the same term, and the
// leader answered.
func agree(answers []*pb.StatusResponse) bool {
	leader, err := leaderOf(answers, nil)
	if err != nil {
		return false
	}
	votes := 0
	for _, a := range answers {
		if a != nil && a.Leader == answers[leader].Header.MemberId && a.RaftTerm == answers[leader].RaftTerm {
			votes++
		}
	}
	return 2*votes > len(answers)
}

func leaderOf(answers []*pb.StatusResponse, unasked error) (int, error) {
	var leader, term uint64
	for _, a := range answers {
		if a != nil && a.Leader != 0 && a.RaftTerm >= term {
			leader, term = a.Leader, a.RaftTerm
		}
	}
	if leader == 0 {
		return 0, errors.Join(errors.New("find the leader of etcd: no member knows one"), unasked)
	}
	for i, a := range answers {
		if a != nil && a.Header.MemberId == leader {
			return i, nil
		}
	}
	return 0, errors.Join(fmt.Errorf("find the leader of etcd: no endpoint answered as member %x", leader), unasked)
}

// CountKeys counts all keys, or those below the prefix, in one linearizable read. Any member may
// answer.
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	t.Prefer = -1
	conn, err := connect(t)
	if err != nil {
		return 0, fmt.Errorf("count etcd keys: %w", err)
	}
	first, end := span(t.KeyPrefix())
	resp, err := pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: first, RangeEnd: end, CountOnly: true})
	if err = errors.Join(answer.Classify(err, false), conn.Close()); err != nil {
		return 0, fmt.Errorf("count etcd keys: %w", err)
	}
	return resp.Count, nil
}

func statusOf(ctx context.Context, t database.Target, member int) (status *pb.StatusResponse, err error) {
	err = ask(t, member, func(conn *grpc.ClientConn) error {
		status, err = pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{})
		if err != nil {
			return fmt.Errorf("status of etcd member %d: %w", member, answer.Classify(err, false))
		}
		return nil
	})
	return status, err
}

// ask calls f on a connection to one member.
func ask(t database.Target, member int, f func(*grpc.ClientConn) error) error {
	t.Prefer = member
	conn, err := connect(t)
	if err != nil {
		return err
	}
	return errors.Join(f(conn), conn.Close())
}
