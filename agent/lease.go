package agent

import "time"

// watchLease ends the session when its control has been silent for the lease. A stopped session
// is only marked as expired: the next Open may then take the agent.
func watchLease(s *session) {
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
		left := leaseLeft(s)
		if left <= 0 {
			s.end(reasonLeaseExpired)
			return
		}
		timer.Reset(left)
	}
}

// leaseLeft returns how long the control may still be silent. At zero the session is
// marked as expired under the same lock, so no heartbeat can come between.
func leaseLeft(s *session) time.Duration {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	if s.now.detached && !s.over() {
		return s.agent.opts.Lease
	}
	left := s.agent.opts.Lease - time.Since(s.now.alive)
	s.now.expired = left <= 0
	return left
}
