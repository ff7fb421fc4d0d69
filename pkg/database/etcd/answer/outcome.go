// Package answer interprets the answers from etcd: the outcome that an error gives a request, and
// the versions of keys.
package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/raft/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database"
)

// Classify classes the error of a call, nil for nil, as gRPC or clientv3 returns it. sent means
// that the request was given to a connection; otherwise it was surely not applied.
func Classify(err error, sent bool) error {
	if err == nil {
		return nil
	}
	class, refused := classOf(err)
	switch {
	case class == database.ClassConnection && !sent:
		// There was no connection to lose.
		return database.NotApplied(database.ClassUnavailable, err)
	case refused || !sent:
		return database.NotApplied(class, err)
	}
	return database.MaybeApplied(class, err)
}

// classOf returns the class of an error, and whether the server refused the request, which it then
// did not apply.
func classOf(err error) (class database.Class, refused bool) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return database.ClassTimeout, false
	case errors.Is(err, context.Canceled):
		return database.ClassCancelled, false
	}
	// etcd errors are recognized by their text, as some are sent without a code.
	switch rpctypes.Error(err) {
	case rpctypes.ErrTooManyRequests:
		return database.ClassThrottled, true
	case rpctypes.ErrNoSpace:
		// One error for two cases: the check before the proposal refuses the request, but
		// the member that finds its quota exceeded while applying applies it and returns
		// this error too.
		return database.ClassSpaceExceeded, false
	case rpctypes.ErrRequestTooLarge:
		return database.ClassTooLarge, true
	case rpctypes.ErrNoLeader, rpctypes.ErrUnhealthy:
		return database.ClassUnavailable, true
	case rpctypes.ErrLeaderChanged, rpctypes.ErrTimeoutDueToLeaderFail:
		return database.ClassLeaderChange, false
	case rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrTimeoutWaitAppliedIndex:
		return database.ClassTimeout, false
	case rpctypes.ErrStopped:
		// The member stops after it sent the proposal, which others may commit.
		return database.ClassUnavailable, false
	case rpctypes.ErrAuthFailed, rpctypes.ErrAuthNotEnabled, rpctypes.ErrUserEmpty,
		rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision:
		return database.ClassDenied, true
	}
	var known rpctypes.EtcdError // has a code, but is no status
	if errors.As(err, &known) {
		return classOfStatus(status.New(known.Code(), known.Error()))
	}
	return classOfStatus(status.Convert(err))
}

// classOfStatus classifies errors from the transport, and from server parts that return plain gRPC
// errors.
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
		switch s.Message() {
		case raft.ErrProposalDropped.Error(): // there is no leader
			return database.ClassUnavailable, true
		case context.DeadlineExceeded.Error():
			// Releases before 3.5 return the error of the request context as it is: the deadline
			// the client sent has passed, perhaps after the proposal.
			return database.ClassTimeout, false
		}
	}
	return database.ClassOther, false
}

// WithoutTxn adds [database.ErrNoTransactions] to the error for a transaction the server does not
// know, as a proxy or a server with only part of the etcd API may not.
func WithoutTxn(err error) error {
	if status.Code(err) == codes.Unimplemented {
		return database.NotApplied(database.ClassOther, fmt.Errorf("%w: %w", database.ErrNoTransactions, err))
	}
	return err
}
