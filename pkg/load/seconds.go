package load

import "github.com/coreos/dbtester/pkg/load/clock"

// openSeconds are the two seconds that can be recorded into: the ones after the last
// flushed second.
type openSeconds struct {
	clock   clock.Clock
	flushed int64
}

// of returns the open second for a moment. The bounds matter only if a goroutine was descheduled
// between reading the clock and recording.
func (o *openSeconds) of(ns int64) int64 {
	return min(max(o.clock.Second(ns), o.flushed+1), o.flushed+2)
}
