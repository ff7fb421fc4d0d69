package fleet

import (
	"fmt"
	"time"
)

// An agent and a generator get a heartbeat each HeartbeatEvery, which must be answered within
// HeartbeatTimeout.
const (
	HeartbeatEvery   = time.Second
	HeartbeatTimeout = 5 * HeartbeatEvery
)

// heartbeatsMissed is how many heartbeats in a row must fail for the other side to be lost.
const heartbeatsMissed = 3

// Misses counts heartbeats in a row that failed. The zero value has none.
type Misses struct{ n int }

// Count counts a heartbeat by its error, nil if it was answered. It returns nil, or why the
// other side is lost: from the third heartbeat in a row on that failed.
func (m *Misses) Count(err error) error {
	if err == nil {
		m.n = 0
		return nil
	}
	if m.n++; m.n < heartbeatsMissed {
		return nil
	}
	return fmt.Errorf("%d heartbeats in a row failed: %w", m.n, err)
}
