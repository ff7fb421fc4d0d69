package load

import (
	"context"
	"errors"

	"github.com/coreos/dbtester/pkg/database"
)

// Reconnect replaces lost connections: broken ones, and ones refused by a member that cannot serve.
// A nil Reconnect leaves reconnecting to the database clients, which retry with every request.
type Reconnect struct {
	// Members are the members to which the load goes. Connection n, numbered over all parts of the
	// step, first goes to Members[n % len(Members)].
	Members []int
	// Dial opens a connection to one member, with the same abilities as the connections that the
	// step began with. It is called concurrently, once at a time for each connection and member.
	Dial func(ctx context.Context, member int) (database.Client, error)
	// Lost, if not nil, is called for each lost connection with the error that showed it, and
	// Opened for each reopened connection with its member. Both are called concurrently and must
	// return at once.
	Lost   func(member int, err error)
	Opened func(member int)
	// Gone, if not nil, reports whether all Members have ended for good. It is called
	// once a second and must return at once.
	Gone func() bool
	// FailBack makes the connections that failed over go back to their first members; nil if
	// nothing asks for it.
	FailBack <-chan FailBack
}

// ErrMembersGone is the error for a step that ended early because no member that could answer was
// left.
var ErrMembersGone = errors.New("every member that the load goes to has ended")

// FailBack asks the running step to make the connections that failed over go back to their first
// members, so that they are spread over the members as at the beginning.
type FailBack struct {
	// Within ends the attempts, as the end of the step and a time-out do.
	Within context.Context
	// Result receives the result, for which it must have room.
	Result chan<- FailedBack
}

// FailedBack counts the connections that went back to their first members, and those still away:
// the ones that could not be opened there within 20 s, and the ones lost at the time.
type FailedBack struct {
	Returned int
	Away     int
}

// Add adds another part's connections.
func (f *FailedBack) Add(o FailedBack) {
	f.Returned += o.Returned
	f.Away += o.Away
}
