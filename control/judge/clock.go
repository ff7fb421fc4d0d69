package judge

import (
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// The clocks of members are compared with the client's, into which their samples and
// logs are converted.
const (
	// maxClockError is the uncertainty above which series by second may be off by more
	// than a tenth of a second.
	maxClockError = 100 * time.Millisecond
	// maxClockOffset is how far a clock that a time service keeps is off at most.
	maxClockOffset = 50 * time.Millisecond
	// maxClockMove is how far an offset may move during a run: a hundredth of the second
	// between samples. A free clock drifts that far in some minutes; one that is set
	// during the run moves further.
	maxClockMove = 10 * time.Millisecond
)

// clocks marks members whose clock is not known well enough, far off, or moving.
func (v *verdict) clocks() {
	for _, m := range v.e.Run.Members {
		c := m.Clock
		if c == nil {
			continue
		}
		if c.Error > maxClockError {
			v.mark(results.MarkClock, false, "member %d: its clock is known to %v only", m.Index+1, c.Error)
		}
		if off := max(c.Offset.Abs(), c.Furthest); off > maxClockOffset {
			v.mark(results.MarkClock, false, "member %d: its clock was off by %v, give or take %v (mark above %v): its samples and logs are converted, its own records are not",
				m.Index+1, off.Round(time.Microsecond), c.Error.Round(time.Microsecond), maxClockOffset)
		}
		if c.Moved > maxClockMove {
			v.mark(results.MarkClock, false, "member %d: its clock moved by at least %v against the client's during the run (mark above %v)", m.Index+1, c.Moved.Round(time.Microsecond), maxClockMove)
		}
	}
}
