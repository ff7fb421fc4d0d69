package etcd

import (
	"context"
	"errors"
	"fmt"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/raft/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database"
)

func TestClassify(t *testing.T) {
	status := status.Error
	tests := []struct {
		err         error
		class       database.Class
		sent        database.Outcome // if the request was sent
		unsentClass database.Class   // if another when it was not
	}{
		{err: rpctypes.ErrGRPCNoSpace, class: database.ClassSpaceExceeded, sent: database.Unknown},
		{err: rpctypes.ErrGRPCRequestTooManyRequests, class: database.ClassThrottled, sent: database.Failed},
		// As servers up to 3.7 send it.
		{err: status(codes.Unknown, "etcdserver: too many requests"), class: database.ClassThrottled, sent: database.Failed},
		{err: rpctypes.ErrGRPCRequestTooLarge, class: database.ClassTooLarge, sent: database.Failed},
		{err: status(codes.ResourceExhausted, "grpc: received message larger than max (3 vs. 2)"), class: database.ClassTooLarge, sent: database.Failed},
		{err: status(codes.ResourceExhausted, "stream terminated by RST_STREAM with error code: ENHANCE_YOUR_CALM"), class: database.ClassThrottled, sent: database.Unknown},
		{err: rpctypes.ErrGRPCNoLeader, class: database.ClassUnavailable, sent: database.Failed},
		{err: status(codes.Unknown, raft.ErrProposalDropped.Error()), class: database.ClassUnavailable, sent: database.Failed},
		// As servers up to 3.4 send it.
		{err: status(codes.Unknown, "context deadline exceeded"), class: database.ClassTimeout, sent: database.Unknown},
		{err: rpctypes.ErrGRPCLeaderChanged, class: database.ClassLeaderChange, sent: database.Unknown},
		{err: rpctypes.ErrGRPCTimeoutDueToLeaderFail, class: database.ClassLeaderChange, sent: database.Unknown},
		{err: rpctypes.ErrGRPCTimeout, class: database.ClassTimeout, sent: database.Unknown},
		{err: rpctypes.ErrGRPCTimeoutDueToConnectionLost, class: database.ClassTimeout, sent: database.Unknown},
		{err: rpctypes.ErrGRPCTimeoutWaitAppliedIndex, class: database.ClassTimeout, sent: database.Unknown},
		{err: rpctypes.ErrGRPCStopped, class: database.ClassUnavailable, sent: database.Unknown},
		{err: rpctypes.ErrGRPCPermissionDenied, class: database.ClassDenied, sent: database.Failed},
		{err: rpctypes.ErrGRPCAuthFailed, class: database.ClassDenied, sent: database.Failed},
		{err: rpctypes.ErrGRPCEmptyKey, class: database.ClassOther, sent: database.Failed},
		{err: status(codes.Unavailable, "error reading from server: EOF"), class: database.ClassConnection, sent: database.Unknown, unsentClass: database.ClassUnavailable},
		{err: status(codes.DeadlineExceeded, "context deadline exceeded"), class: database.ClassTimeout, sent: database.Unknown},
		{err: status(codes.Canceled, "context canceled"), class: database.ClassCancelled, sent: database.Unknown},
		{err: fmt.Errorf("wrapped: %w", context.DeadlineExceeded), class: database.ClassTimeout, sent: database.Unknown},
		{err: context.Canceled, class: database.ClassCancelled, sent: database.Unknown},
		{err: status(codes.Internal, "?"), class: database.ClassOther, sent: database.Unknown},
		{err: errors.New("?"), class: database.ClassOther, sent: database.Unknown},
	}
	for _, tt := range tests {
		outcome, class := database.Classify(classify(tt.err, true))
		if outcome != tt.sent || class != tt.class {
			t.Errorf("sent, %v: %v %q, want %v %q", tt.err, outcome, class, tt.sent, tt.class)
		}
		want := tt.class
		if tt.unsentClass != "" {
			want = tt.unsentClass
		}
		outcome, class = database.Classify(classify(tt.err, false))
		if outcome != database.Failed || class != want {
			t.Errorf("not sent, %v: %v %q, want failed %q", tt.err, outcome, class, want)
		}
	}
	if err := classify(nil, true); err != nil {
		t.Errorf("nil became %v", err)
	}
}

func TestLeaderOf(t *testing.T) {
	says := func(self, leader, term uint64) *pb.StatusResponse {
		return &pb.StatusResponse{Header: &pb.ResponseHeader{MemberId: self}, Leader: leader, RaftTerm: term}
	}
	tests := []struct {
		name    string
		answers []*pb.StatusResponse
		want    int
		fails   bool
	}{
		{name: "all agree", answers: []*pb.StatusResponse{says(1, 2, 5), says(2, 2, 5), says(3, 2, 5)}, want: 1},
		{name: "one is dead", answers: []*pb.StatusResponse{nil, says(2, 3, 5), says(3, 3, 5)}, want: 2},
		{name: "an old term", answers: []*pb.StatusResponse{says(1, 1, 4), says(2, 3, 5), says(3, 3, 5)}, want: 2},
		{name: "an election", answers: []*pb.StatusResponse{says(1, 0, 6), says(2, 0, 6), says(3, 0, 6)}, fails: true},
		{name: "the leader is elsewhere", answers: []*pb.StatusResponse{says(1, 9, 5)}, fails: true},
		{name: "nobody answers", answers: []*pb.StatusResponse{nil, nil}, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := leaderOf(tt.answers, nil)
			if (err != nil) != tt.fails || (err == nil && got != tt.want) {
				t.Errorf("got %d, %v; want %d, failure %v", got, err, tt.want, tt.fails)
			}
		})
	}
}

func TestMaxValue(t *testing.T) {
	// 1.5 MiB, less 3+11 of header with an id of 10 bytes, 1+3 for the put, 1+2 for
	// the key's length, 1+3 for the value's, and the key.
	if got, want := maxValue(defaultRequestBytes, 256), 1572864-14-4-3-4-256; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	if got := maxValue(10, 256); got != 0 {
		t.Errorf("a request without room for a value holds %d", got)
	}
	for _, key := range []int{1, 127, 128, 256, 4096} {
		size := maxValue(defaultRequestBytes, key)
		if entrySize(key, size, maxVarint) > defaultRequestBytes || entrySize(key, size+1, maxVarint) <= defaultRequestBytes {
			t.Errorf("key of %d bytes: %d is not the largest", key, size)
		}
	}
}
