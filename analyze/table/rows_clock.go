package table

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// clockRows show how accurately the members' times are known.
func clockRows() []Row {
	return []Row{
		{Name: "CLOCK-OFFSET", Unit: "ms", Definition: "how far each member's clock was ahead of the client's clock, within half the shortest round trip of a heartbeat; samples and logs are converted with the offsets over time; moved is the change that these errors do not explain", Ours: true,
			Cell: attended(clockOffset)},
		{Name: "TIME-SERVICE", Definition: "whether a time service synchronizes the clocks according to the kernel, and the largest error that the kernel reports", Ours: true,
			Cell: attended(timeService)},
	}
}

// clockOffset formats the clock offset of each member. The number in the cell is the largest.
func clockOffset(r *run.Run) Cell {
	var parts []string
	furthest, heartbeats := 0.0, int64(0)
	for _, m := range r.Info.Record.Members {
		if m.Clock == nil {
			continue
		}
		heartbeats += int64(m.Clock.N)
		offset := millis(m.Clock.Offset)
		if math.Abs(offset) > math.Abs(furthest) {
			furthest = offset
		}
		part := fmt.Sprintf("%d: %+.2f +/-%.2f ms", m.Index+1, offset, millis(m.Clock.Error))
		if m.Clock.Moved >= 10*time.Microsecond { // visible with two digits
			part += fmt.Sprintf(", moved %.2f ms", millis(m.Clock.Moved))
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return missing("no heartbeat was recorded")
	}
	return number(furthest, heartbeats, "%s", strings.Join(parts, "; "))
}

func millis(d time.Duration) float64 { return float64(d) / 1e6 }

// timeService states for each machine whether its clock is synchronized; once if all agree.
func timeService(r *run.Run) Cell {
	var texts []string
	for _, m := range r.Info.Record.Members {
		if m.Host != nil && m.Host.ClockSync != "" {
			texts = append(texts, clockSyncText(*m.Host))
		}
	}
	if len(texts) == 0 {
		return missing("not recorded")
	}
	return Cell{Text: JoinDistinct(texts)}
}

func clockSyncText(h results.Host) string {
	text := h.ClockSync
	if h.ClockMaxError > 0 {
		text += fmt.Sprintf(" within %v", h.ClockMaxError.Round(time.Millisecond))
	}
	if h.TimeService != "" {
		text += " (" + h.TimeService + ")"
	}
	return text
}
