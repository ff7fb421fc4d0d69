package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

var (
	_ database.Compacter    = (*Options)(nil)
	_ database.Defragmenter = (*Options)(nil)
	_ database.Snapshotter  = (*Options)(nil)
)

// CompactEvery returns the default interval between compactions in loads that overwrite keys. With
// 10,000 updates of 1 KiB per second a member then holds 1 GiB of history.
func (o *Options) CompactEvery() time.Duration { return time.Minute }

// Compact compacts up to the newest revision, and waits until the answering member has removed
// all older revisions. Otherwise etcd keeps every revision, even for deleted keys.
func (o *Options) Compact(ctx context.Context, t database.Target) error {
	t.Prefer = -1
	conn, err := connect(t)
	if err != nil {
		return fmt.Errorf("compact etcd: %w", err)
	}
	kv := pb.NewKVClient(conn)
	key, _ := span(t.KeyPrefix())
	now, err := kv.Range(ctx, &pb.RangeRequest{Key: key, CountOnly: true})
	if err == nil {
		_, err = kv.Compact(ctx, &pb.CompactionRequest{Revision: now.Header.Revision, Physical: true})
	}
	if errors.Is(rpctypes.Error(err), rpctypes.ErrCompacted) {
		err = nil // nothing was written since
	}
	if err = errors.Join(answer.Classify(err, true), conn.Close()); err != nil {
		return fmt.Errorf("compact etcd: %w", err)
	}
	return nil
}

// Defragment rewrites a member's store. The member answers nothing meanwhile.
func (o *Options) Defragment(ctx context.Context, t database.Target, member int) error {
	return ask(t, member, func(conn *grpc.ClientConn) error {
		if _, err := pb.NewMaintenanceClient(conn).Defragment(ctx, &pb.DefragmentRequest{}); err != nil {
			return fmt.Errorf("defragment etcd member %d: %w", member, answer.Classify(err, true))
		}
		return nil
	})
}

// Snapshot reads a snapshot of a member's store.
func (o *Options) Snapshot(ctx context.Context, t database.Target, member int) (size int64, err error) {
	err = ask(t, member, func(conn *grpc.ClientConn) error {
		stream, err := pb.NewMaintenanceClient(conn).Snapshot(ctx, &pb.SnapshotRequest{})
		for err == nil {
			var part *pb.SnapshotResponse
			if part, err = stream.Recv(); err == nil {
				size += int64(len(part.Blob))
			}
		}
		if !errors.Is(err, io.EOF) {
			return fmt.Errorf("snapshot of etcd member %d: %w", member, answer.Classify(err, true))
		}
		return nil
	})
	return size, err
}
