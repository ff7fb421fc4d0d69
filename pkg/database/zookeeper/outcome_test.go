package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

func TestClassify(t *testing.T) {
	tests := []struct {
		err     error
		class   database.Class
		started database.Outcome // if the library was given the request
	}{
		{zk.ErrConnectionClosed, database.ClassConnection, database.Unknown},
		{&net.OpError{Op: "write", Err: errors.New("broken pipe")}, database.ClassConnection, database.Unknown},
		{zk.ErrNoServer, database.ClassUnavailable, database.Failed},
		{zk.ErrClosing, database.ClassUnavailable, database.Unknown},
		{zk.ErrSessionExpired, database.ClassUnavailable, database.Failed},
		{zk.ErrSessionMoved, database.ClassUnavailable, database.Failed},
		{zk.ErrNoNode, database.ClassNotFound, database.Failed},
		{zk.ErrNodeExists, database.ClassConflict, database.Failed},
		{zk.ErrBadVersion, database.ClassConflict, database.Failed},
		{zk.ErrNoAuth, database.ClassDenied, database.Failed},
		{zk.ErrShortBuffer, database.ClassTooLarge, database.Failed},
		{zk.ErrInvalidPath, database.ClassOther, database.Failed},
		{zk.ErrAPIError, database.ClassOther, database.Unknown},
		{fmt.Errorf("wrapped: %w", context.DeadlineExceeded), database.ClassTimeout, database.Unknown},
		{context.Canceled, database.ClassCancelled, database.Unknown},
		{errors.New("?"), database.ClassOther, database.Unknown},
	}
	for _, tt := range tests {
		outcome, class := database.Classify(classify(tt.err, true))
		if outcome != tt.started || class != tt.class {
			t.Errorf("started, %v: %v %q, want %v %q", tt.err, outcome, class, tt.started, tt.class)
		}
		outcome, class = database.Classify(classify(tt.err, false))
		if outcome != database.Failed || class != tt.class {
			t.Errorf("not started, %v: %v %q, want failed %q", tt.err, outcome, class, tt.class)
		}
	}
	if err := classify(nil, true); err != nil {
		t.Errorf("nil became %v", err)
	}
}
