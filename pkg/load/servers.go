package load

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// abandonAfter is the time that all clients may be without a server before a step without another
// end is abandoned.
const abandonAfter = time.Minute

// watchServers abandons a step that would wait for ever: a closed loop without a duration
// whose members have all ended, or whose clients have all been without a server for
// abandonAfter.
func (s *step) watchServers(ctx context.Context, abandon context.CancelCauseFunc) {
	if s.rated() || s.Duration > 0 {
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	served := s.rec.clock.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if s.Reconnect != nil && s.Reconnect.Gone != nil && s.Reconnect.Gone() {
			abandon(ErrMembersGone)
			return
		}
		now := s.rec.clock.Now()
		if slices.ContainsFunc(s.conns, func(c *connection) bool { return c.current.Load() != nil }) {
			served = now
		}
		if now-served > int64(abandonAfter) {
			abandon(fmt.Errorf("send requests: no member has accepted a connection for %v", abandonAfter))
			return
		}
	}
}
