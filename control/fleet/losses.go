package fleet

import (
	"slices"
	"sync"
)

// Losses are the members that are known to be gone, each with why. Its methods are
// safe for concurrent use.
type Losses struct {
	report func(member int, why string)

	mu  sync.Mutex
	why []string // by member; "" while it is not lost
}

// NewLosses returns the losses of a number of members, none of them lost. report is
// called once for each member that is lost, by the goroutine that found it.
func NewLosses(members int, report func(member int, why string)) *Losses {
	return &Losses{report: report, why: make([]string, members)}
}

// Add notes that a member is lost. Only the first reason counts.
func (l *Losses) Add(member int, why string) {
	l.mu.Lock()
	known := l.why[member] != ""
	if !known {
		l.why[member] = why
	}
	l.mu.Unlock()
	if !known {
		l.report(member, why)
	}
}

// Has reports whether a member is lost.
func (l *Losses) Has(member int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why[member] != ""
}

// Reasons returns why members are lost, by member; "" for those that are not.
func (l *Losses) Reasons() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.why)
}
