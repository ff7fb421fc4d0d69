package load

import (
	"errors"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// done is one ended request. Times are nanoseconds by the recorder clock.
type done struct {
	due, sent, end int64
	phase, op      int
	late           int64 // the part of sent - due caused by the client itself
	stopped        int64 // the part of end - sent by which process stops delayed the answer
	read, written  int64 // bytes in the value read, in keys and values written
	member         int   // to which the request went; -1 if not known
	outcome        workload.Outcome
	class          database.Class
	declined       bool // a failure that is an answer; see database.Declined
	err            error
	observed       []Ended // for an observer; nil without one
}

// severed reports whether a request shows that its client has no server: the connection broke, a
// member that cannot serve refused the request, or it waited for a connection until its time-out.
func (d *done) severed() bool {
	switch d.class {
	case database.ClassConnection, database.ClassUnavailable:
		return true
	case database.ClassTimeout:
		return errors.Is(d.err, database.ErrDisconnected)
	}
	return false
}
