package load

import (
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

// severed reports whether a request shows that its client has no server: the
// connection broke, or a member that cannot serve refused the request.
func (d *done) severed() bool {
	return d.class == database.ClassConnection || d.class == database.ClassUnavailable
}
