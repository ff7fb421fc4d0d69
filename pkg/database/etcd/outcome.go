package etcd

import (
	"context"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/raft/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database"
)

// classify turns what a call returned into a classed error, nil for nil. sent
// says whether the request was handed to a connection; one that was not can't
// have been applied.
func classify(err error, sent bool) error {
	if err == nil {
		return nil
	}
	class, refused := classOf(err)
	switch {
	case class == database.ClassConnection && !sent:
		// No connection to lose: nobody listens, or nobody is reached.
		return database.NotApplied(database.ClassUnavailable, err)
	case refused || !sent:
		return database.NotApplied(class, err)
	}
	return database.MaybeApplied(class, err)
}

// classOf returns the kind of an error and whether it is a refusal: the server's
// word that it did not apply the request.
func classOf(err error) (class database.Class, refused bool) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return database.ClassTimeout, false
	case errors.Is(err, context.Canceled):
		return database.ClassCancelled, false
	}
	// etcd's errors are known by their text: some cross the wire without a code.
	switch rpctypes.Error(err) {
	case rpctypes.ErrTooManyRequests, rpctypes.ErrNoSpace:
		return database.ClassThrottled, true
	case rpctypes.ErrRequestTooLarge:
		return database.ClassTooLarge, true
	case rpctypes.ErrNoLeader, rpctypes.ErrUnhealthy:
		return database.ClassUnavailable, true
	case rpctypes.ErrLeaderChanged, rpctypes.ErrTimeoutDueToLeaderFail:
		return database.ClassLeaderChange, false
	case rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrTimeoutWaitAppliedIndex:
		return database.ClassTimeout, false
	case rpctypes.ErrStopped:
		// The member stops with the proposal under way: others may commit it.
		return database.ClassUnavailable, false
	case rpctypes.ErrAuthFailed, rpctypes.ErrAuthNotEnabled, rpctypes.ErrUserEmpty,
		rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision:
		return database.ClassDenied, true
	}
	return classOfStatus(status.Convert(err))
}

// classOfStatus reads errors of the transport and of the parts of the server
// that answer in plain gRPC.
func classOfStatus(s *status.Status) (class database.Class, refused bool) {
	switch s.Code() {
	case codes.DeadlineExceeded:
		return database.ClassTimeout, false
	case codes.Canceled:
		return database.ClassCancelled, false
	case codes.Unavailable:
		return database.ClassConnection, false
	case codes.PermissionDenied, codes.Unauthenticated:
		return database.ClassDenied, true
	case codes.ResourceExhausted:
		if strings.Contains(s.Message(), "larger than max") {
			return database.ClassTooLarge, true
		}
		return database.ClassThrottled, false
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange, codes.NotFound, codes.Unimplemented:
		return database.ClassOther, true
	case codes.Unknown:
		// Raft drops a proposal when there is no leader to take it.
		if s.Message() == raft.ErrProposalDropped.Error() {
			return database.ClassUnavailable, true
		}
	}
	return database.ClassOther, false
}
