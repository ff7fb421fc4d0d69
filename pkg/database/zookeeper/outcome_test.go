package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

func TestClassify(t *testing.T) {
	tests := []struct {
		err     error
		class   database.Class
		started workload.Outcome // if the library was given the request
	}{
		{zk.ErrConnectionClosed, database.ClassConnection, workload.Unknown},
		{&net.OpError{Op: "write", Err: errors.New("broken pipe")}, database.ClassConnection, workload.Unknown},
		{zk.ErrNoServer, database.ClassUnavailable, workload.Failed},
		{zk.ErrClosing, database.ClassUnavailable, workload.Unknown},
		{zk.ErrSessionExpired, database.ClassUnavailable, workload.Failed},
		{zk.ErrSessionMoved, database.ClassUnavailable, workload.Failed},
		{zk.ErrNoNode, database.ClassNotFound, workload.Failed},
		{zk.ErrNodeExists, database.ClassConflict, workload.Failed},
		{zk.ErrBadVersion, database.ClassConflict, workload.Failed},
		{zk.ErrNoAuth, database.ClassDenied, workload.Failed},
		{zk.ErrShortBuffer, database.ClassTooLarge, workload.Failed},
		{zk.ErrInvalidPath, database.ClassOther, workload.Failed},
		{zk.ErrAPIError, database.ClassOther, workload.Unknown},
		{fmt.Errorf("wrapped: %w", context.DeadlineExceeded), database.ClassTimeout, workload.Unknown},
		{context.Canceled, database.ClassCancelled, workload.Unknown},
		{errors.New("?"), database.ClassOther, workload.Unknown},
	}
	for _, tt := range tests {
		outcome, class := database.Classify(classify(tt.err, true))
		if outcome != tt.started || class != tt.class {
			t.Errorf("started, %v: %v %q, want %v %q", tt.err, outcome, class, tt.started, tt.class)
		}
		outcome, class = database.Classify(classify(tt.err, false))
		if outcome != workload.Failed || class != tt.class {
			t.Errorf("not started, %v: %v %q, want failed %q", tt.err, outcome, class, tt.class)
		}
	}
	if err := classify(nil, true); err != nil {
		t.Errorf("nil became %v", err)
	}
}
