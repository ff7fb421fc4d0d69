package agent

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/fault"
)

// Bounds on the faults that a control can make an agent remember.
const (
	maxFaults     = 10_000
	maxParameters = 4 << 10 // bytes
	maxPlace      = 512     // bytes
	longestFault  = 24 * time.Hour
)

// tooMany refuses a fault beyond the bound.
func tooMany() error {
	return status.Error(codes.ResourceExhausted, fmt.Sprintf("the session has had %d faults already", maxFaults))
}

// fault returns the fault with an id.
func (s *session) fault(id string) (fault.Record, bool) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	if i := slices.IndexFunc(s.now.faults, func(r fault.Record) bool { return r.ID == id }); i >= 0 {
		return s.now.faults[i], true
	}
	return fault.Record{}, false
}

// noteFault replaces the record of the fault.
func (s *session) noteFault(r fault.Record) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	faults := slices.Clone(s.now.faults) // others may be writing the record
	if i := slices.IndexFunc(faults, func(o fault.Record) bool { return o.ID == r.ID }); i >= 0 {
		faults[i] = r
	} else {
		faults = append(faults, r)
	}
	s.now.faults = faults
}

// lasting returns the faults that are not over.
func (s *session) lasting() []fault.Record {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.now.faults), func(r fault.Record) bool { return !r.Over.IsZero() })
}

// lately returns the faults that ended a moment ago.
func (s *session) lately() []fault.Record {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.now.faults), func(r fault.Record) bool { return time.Since(r.Over) > aftermath })
}

// isDown reports whether a fault ended the member.
func (s *session) isDown() bool {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	return s.now.down
}

func (s *session) setDownFlag(down bool) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	s.now.down = down
}

// aftermath is how long after a fault that may end the member its death still counts as
// caused by it: a store ends itself once it has read that its disk failed.
const aftermath = 5 * time.Second
