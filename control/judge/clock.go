package judge

import (
	"time"

	"github.com/coreos/dbtester/pkg/mark"
)

// Member clocks are compared with the client clock. Member samples and logs are converted into it.
const (
	// maxClockError is the uncertainty above which series by second may be off by more than 100 ms.
	maxClockError = 100 * time.Millisecond
	// maxClockOffset is the largest clock offset with a time service.
	maxClockOffset = 50 * time.Millisecond
	// maxClockMove is the most by which an offset may move during a run: a hundredth of the second
	// between samples. A free-running clock drifts that far in some minutes. Setting the clock
	// during the run moves it further.
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
			v.mark(mark.Clock, false, mark.Values{"member": member(m.Index), "error_seconds": c.Error.Seconds()}, nil)
		}
		if off := max(c.Offset.Abs(), c.Furthest); off > maxClockOffset {
			v.mark(mark.Clock, false, mark.Values{
				"member": member(m.Index), "off_seconds": off.Seconds(), "error_seconds": c.Error.Seconds(), "bound_seconds": maxClockOffset.Seconds(),
			}, nil)
		}
		if c.Moved > maxClockMove {
			v.mark(mark.Clock, false, mark.Values{"member": member(m.Index), "moved_seconds": c.Moved.Seconds(), "bound_seconds": maxClockMove.Seconds()}, nil)
		}
	}
}
