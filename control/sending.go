package control

import (
	"context"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/control/issue"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
)

// sender returns the half that sends the load itself, or nil.
func (r *run) sender() abilities.Sender {
	for _, half := range r.halves {
		if s, ok := half.(abilities.Sender); ok && s.Sends() {
			return s
		}
	}
	return nil
}

// sending has a half send the load.
type sending struct {
	*loader
	beside *during
}

var _ abilities.Sending = (*sending)(nil)

// Trial implements [abilities.Sending].
func (s *sending) Trial() int { return s.run.journal.about.Trial }

// Step implements [abilities.Sending].
func (s *sending) Step(ctx, until context.Context, step load.Step) (load.StepResult, error) {
	return s.issue.Step(ctx, issue.Step{Step: step, Until: until, Keep: true, Members: s.dialer.targets, Begin: func() {
		s.fleet.SetClients(step.Clients)
		s.beside.start(ctx)
	}})
}

// Between implements [abilities.Sending].
func (s *sending) Between(ctx context.Context) {
	for _, half := range s.run.halves {
		if b, ok := half.(abilities.Betweener); ok {
			b.Between(ctx)
		}
	}
}

// Restart implements [abilities.Sending].
func (s *sending) Restart() error { return s.issue.Restart() }

// Record implements [abilities.Sending].
func (s *sending) Record(step load.Step, res load.StepResult) { s.recordStep(step, res) }

// found reports whether a half found the object of the load, such as a capacity.
func (r *run) found() bool {
	for _, half := range r.halves {
		if s, ok := half.(abilities.Seeker); ok && s.Found() {
			return true
		}
	}
	return false
}

// unfound returns the object of the load if a half did not find it, and why; both are "" if it was
// found.
func (r *run) unfound() (u Unfound) {
	for _, half := range r.halves {
		if s, ok := half.(abilities.Seeker); ok && u.Why == "" {
			u.What, u.Why = s.Unfound()
		}
	}
	return u
}

// ownMarks returns the marks that halves have for the run.
func (r *run) ownMarks() (marks []results.Mark) {
	for _, half := range r.halves {
		if m, ok := half.(abilities.Marker); ok {
			marks = append(marks, m.Marks()...)
		}
	}
	return marks
}
