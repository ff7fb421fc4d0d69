package answer

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/raft/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestClassify: an error has one outcome and one class, whether gRPC returns it or
// clientv3 has translated it.
func TestClassify(t *testing.T) {
	status := status.Error
	tests := []struct {
		err         error
		class       database.Class
		sent        workload.Outcome // if the request was sent
		unsentClass database.Class   // if another when it was not
	}{
		{err: rpctypes.ErrGRPCNoSpace, class: database.ClassSpaceExceeded, sent: workload.Unknown},
		{err: rpctypes.ErrGRPCRequestTooManyRequests, class: database.ClassThrottled, sent: workload.Failed},
		// As servers up to 3.7 send it.
		{err: status(codes.Unknown, "etcdserver: too many requests"), class: database.ClassThrottled, sent: workload.Failed},
		{err: rpctypes.ErrGRPCRequestTooLarge, class: database.ClassTooLarge, sent: workload.Failed},
		{err: status(codes.ResourceExhausted, "grpc: received message larger than max (3 vs. 2)"), class: database.ClassTooLarge, sent: workload.Failed},
		{err: status(codes.ResourceExhausted, "stream terminated by RST_STREAM with error code: ENHANCE_YOUR_CALM"), class: database.ClassThrottled, sent: workload.Unknown},
		{err: rpctypes.ErrGRPCNoLeader, class: database.ClassUnavailable, sent: workload.Failed},
		{err: status(codes.Unknown, raft.ErrProposalDropped.Error()), class: database.ClassUnavailable, sent: workload.Failed},
		// As servers up to 3.4 send it.
		{err: status(codes.Unknown, "context deadline exceeded"), class: database.ClassTimeout, sent: workload.Unknown},
		{err: rpctypes.ErrGRPCLeaderChanged, class: database.ClassLeaderChange, sent: workload.Unknown},
		{err: rpctypes.ErrGRPCTimeoutDueToLeaderFail, class: database.ClassLeaderChange, sent: workload.Unknown},
		{err: rpctypes.ErrGRPCTimeout, class: database.ClassTimeout, sent: workload.Unknown},
		{err: rpctypes.ErrGRPCTimeoutDueToConnectionLost, class: database.ClassTimeout, sent: workload.Unknown},
		{err: rpctypes.ErrGRPCTimeoutWaitAppliedIndex, class: database.ClassTimeout, sent: workload.Unknown},
		{err: rpctypes.ErrGRPCStopped, class: database.ClassUnavailable, sent: workload.Unknown},
		{err: rpctypes.ErrGRPCPermissionDenied, class: database.ClassDenied, sent: workload.Failed},
		{err: rpctypes.ErrGRPCAuthFailed, class: database.ClassDenied, sent: workload.Failed},
		{err: rpctypes.ErrGRPCEmptyKey, class: database.ClassOther, sent: workload.Failed},
		{err: status(codes.Unavailable, "error reading from server: EOF"), class: database.ClassConnection, sent: workload.Unknown, unsentClass: database.ClassUnavailable},
		{err: status(codes.DeadlineExceeded, "context deadline exceeded"), class: database.ClassTimeout, sent: workload.Unknown},
		{err: status(codes.Canceled, "context canceled"), class: database.ClassCancelled, sent: workload.Unknown},
		{err: fmt.Errorf("wrapped: %w", context.DeadlineExceeded), class: database.ClassTimeout, sent: workload.Unknown},
		{err: context.Canceled, class: database.ClassCancelled, sent: workload.Unknown},
		{err: status(codes.Internal, "?"), class: database.ClassOther, sent: workload.Unknown},
		{err: errors.New("?"), class: database.ClassOther, sent: workload.Unknown},
	}
	for _, tt := range tests {
		outcome, class := database.Classify(Classify(tt.err, true))
		if outcome != tt.sent || class != tt.class {
			t.Errorf("sent, %v: %v %q, want %v %q", tt.err, outcome, class, tt.sent, tt.class)
		}
		want := tt.class
		if tt.unsentClass != "" {
			want = tt.unsentClass
		}
		outcome, class = database.Classify(Classify(tt.err, false))
		if outcome != workload.Failed || class != want {
			t.Errorf("not sent, %v: %v %q, want failed %q", tt.err, outcome, class, want)
		}
		library := clientv3.ContextError(t.Context(), tt.err)
		if outcome, class = database.Classify(Classify(library, true)); outcome != tt.sent || class != tt.class {
			t.Errorf("sent, as clientv3 returns it, %T %v: %v %q, want %v %q", library, library, outcome, class, tt.sent, tt.class)
		}
		if outcome, class = database.Classify(Classify(library, false)); outcome != workload.Failed || class != want {
			t.Errorf("not sent, as clientv3 returns it, %T %v: %v %q, want failed %q", library, library, outcome, class, want)
		}
	}
	if err := Classify(nil, true); err != nil {
		t.Errorf("nil became %v", err)
	}
}

// TestWithoutTxn: only the answer from a server that does not know the call says that it has no
// transactions.
func TestWithoutTxn(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{Classify(status.Error(codes.Unimplemented, "unknown method Txn"), true), true},
		{Classify(status.Error(codes.Unavailable, "no leader"), true), false},
		{Classify(status.Error(codes.InvalidArgument, "duplicate key"), true), false},
	} {
		err := WithoutTxn(c.err)
		if errors.Is(err, database.ErrNoTransactions) != c.want {
			t.Errorf("%v: %v", c.err, err)
		}
		if outcome, class := database.Classify(err); c.want && (outcome != workload.Failed || class != database.ClassOther) {
			t.Errorf("%v: %v, %v", err, outcome, class)
		}
	}
}
