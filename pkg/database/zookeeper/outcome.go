package zookeeper

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

// classify classifies the error of a call, nil for nil. A request that was not started was surely
// not applied.
func classify(err error, started bool) error {
	if err == nil {
		return nil
	}
	class, refused := classOf(err)
	if refused || !started {
		return database.NotApplied(class, err)
	}
	return database.MaybeApplied(class, err)
}

// classOf returns the class of an error, and whether the request was surely not applied.
func classOf(err error) (class database.Class, refused bool) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return database.ClassTimeout, false
	case errors.Is(err, context.Canceled):
		return database.ClassCancelled, false
	case errors.Is(err, zk.ErrConnectionClosed):
		return database.ClassConnection, false
	case errors.Is(err, zk.ErrClosing):
		return database.ClassUnavailable, false
	case errors.Is(err, zk.ErrNoServer):
		// The request was not sent: there was no server to send it to.
		return database.ClassUnavailable, true
	case errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrSessionMoved):
		// A server's answer to a request it refused.
		return database.ClassUnavailable, true
	case errors.Is(err, zk.ErrNoNode):
		return database.ClassNotFound, true
	case errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrBadVersion):
		return database.ClassConflict, true
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed), errors.Is(err, zk.ErrInvalidACL), errors.Is(err, zk.ErrReconfigDisabled):
		return database.ClassDenied, true
	case errors.Is(err, zk.ErrShortBuffer):
		return database.ClassTooLarge, true
	case errors.Is(err, zk.ErrInvalidPath), errors.Is(err, zk.ErrBadArguments), errors.Is(err, zk.ErrNotEmpty), errors.Is(err, zk.ErrNoChildrenForEphemerals):
		return database.ClassOther, true
	}
	if m, known := meaningOf(err); known {
		return m.class, m.refused
	}
	var network *net.OpError
	if errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errMalformed) {
		// The connection was lost after the request may have been sent in part.
		return database.ClassConnection, false
	}
	return database.ClassOther, false
}
