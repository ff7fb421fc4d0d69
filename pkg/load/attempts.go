package load

import (
	"context"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// attemptTimeout bounds one attempt to open a connection. The drivers use the same bound.
const attemptTimeout = 5 * time.Second

// attempts open the next link for one connection, at most one attempt at each member. A paused
// member's kernel accepts connections, but the member never answers: an attempt that takes long
// holds up the one at the next member only for the overtaking time in package backoff. Both then
// continue, as in RFC 8305: on a slow network the first may still succeed first. Only one goroutine
// uses them.
type attempts struct {
	on      *connection
	running []bool // by place in reconnect.Members
	latest  int    // where the attempt that began last stands
	waits   bool   // the next one waits until one ends, because each member has one
	ended   chan attempt
}

// attempt is an ended attempt.
type attempt struct {
	place  int
	client database.Client // nil if it failed
}

func newAttempts(on *connection) *attempts {
	members := len(on.reconnect.Members)
	return &attempts{on: on, running: make([]bool, members), ended: make(chan attempt, members)}
}

// begin begins an attempt at the next member. It reports whether there is one without an attempt.
func (a *attempts) begin(ctx context.Context) bool {
	place, free := a.on.next(a.running)
	if a.waits = !free; a.waits {
		return false
	}
	a.running[place], a.latest = true, place
	go func() { a.ended <- attempt{place, a.dial(ctx, place)} }()
	return true
}

// dial tries once to open a connection to the member at a place. It returns nil for an error: the
// loss itself was counted, with its error.
func (a *attempts) dial(ctx context.Context, place int) database.Client {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	client, err := a.on.reconnect.Dial(ctx, a.on.reconnect.Members[place])
	if err != nil {
		return nil
	}
	return client
}

// end notes that an attempt has ended. It reports whether the next one begins after a pause. If
// not, it begins when a later attempt fails or has taken too long, or after the pause already
// begun.
func (a *attempts) end(one attempt) (paused bool) {
	a.running[one.place] = false
	return a.waits || one.place == a.latest
}

// close waits for the running attempts, whose context has ended, and closes their clients.
func (a *attempts) close() {
	for _, running := range a.running {
		if !running {
			continue
		}
		if one := <-a.ended; one.client != nil {
			_ = one.client.Close() // nothing was sent over it
		}
	}
}
