package agent

import "time"

// watchLease ends the session when its control gives no sign of life for the
// lease. A session that stopped otherwise is only marked: from then on the next
// Open may have the agent.
func (s *session) watchLease() {
	timer := time.NewTimer(s.agent.opts.Lease)
	defer timer.Stop()
	for {
		select {
		case <-s.gone:
			return
		case <-s.agent.ctx.Done():
			return
		case <-timer.C:
		}
		left := s.leaseLeft()
		if left <= 0 {
			s.end(reasonLeaseExpired)
			return
		}
		timer.Reset(left)
	}
}

// leaseLeft is how long the session may go on without a sign of life. At zero it
// is marked expired in the same breath, so no heartbeat comes between.
func (s *session) leaseLeft() time.Duration {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	if s.detached && !s.over() {
		return s.agent.opts.Lease
	}
	left := s.agent.opts.Lease - time.Since(s.alive)
	s.expired = left <= 0
	return left
}
