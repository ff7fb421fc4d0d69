package agent

import (
	"time"

	"github.com/coreos/dbtester/agent/tenant"
)

// watchLease ends the session when its control has been silent for the lease. A stopped session
// is only marked as expired: the next Open may then take the agent.
func watchLease(s *session) {
	if tenant.Await(s.kept, s.agent.opts.Lease, s.leaseLeft) {
		s.end(reasonLeaseExpired)
	}
}

// leaseLeft returns how long the control may still be silent. At zero the session is
// marked as expired under the same lock, so no heartbeat can come between.
func (s *session) leaseLeft() time.Duration {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	if s.now.detached && !s.over() {
		return s.agent.opts.Lease
	}
	left := s.now.Left(s.agent.opts.Lease)
	s.now.expired = s.now.expired || left <= 0
	return left
}
