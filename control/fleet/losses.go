package fleet

import (
	"slices"
	"sync"
)

// Losses are the members that are known to be lost, each with its reason. Its methods are safe
// for concurrent use.
type Losses struct {
	report func(member int, why string)

	mu      sync.Mutex
	why     []string // by member; "" while it is not lost
	suspect []bool   // by member: its agent may know a better reason
}

// NewLosses returns a record for the given number of members, all alive. report is called once for
// each lost member, by the goroutine that found it.
func NewLosses(members int, report func(member int, why string)) *Losses {
	return &Losses{report: report, why: make([]string, members), suspect: make([]bool, members)}
}

// Add records the loss of a member. Only the first reason counts.
func (l *Losses) Add(member int, why string) { l.add(member, why, false) }

// Suspect records the loss of a member as seen from here. The first reason later given to
// [Losses.Add] replaces this one: an agent may notice the end of its member only after a connection
// was refused. The loss is still reported only once.
func (l *Losses) Suspect(member int, why string) { l.add(member, why, true) }

func (l *Losses) add(member int, why string, suspect bool) {
	l.mu.Lock()
	known := l.why[member] != ""
	if !known || l.suspect[member] && !suspect {
		l.why[member], l.suspect[member] = why, suspect
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

// Reasons returns why members are lost, by member; "" for members that are not lost.
func (l *Losses) Reasons() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.why)
}
