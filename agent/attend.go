package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/process/tap"
	"github.com/coreos/dbtester/pkg/sleep"
)

const (
	// freeTimeout bounds the wait until the addresses of an ended member are free, before it is
	// started again. freeEvery is the interval between attempts.
	freeTimeout = 10 * time.Second
	freeEvery   = 50 * time.Millisecond
)

var _ fault.Victim = (*attended)(nil)

// attend applies faults and undoes them when their duration is over, until the session ends or a
// child dies that no fault has ended. It then undoes the remains of faults. It returns the member
// that ran last.
func (l life) attend(m *member.Member) *member.Member {
	s, a := l.s, &attended{life: l, member: m, held: map[string]io.Closer{}}
	defer a.release()
	for {
		died := a.member.Done()
		if s.isDown() {
			died = nil
		}
		next, due := a.next()
		select {
		case <-s.ctx.Done():
			return a.member
		case <-died:
			if a.survives() {
				continue
			}
			s.end(l.deathReason(a.member))
			return a.member
		case <-due:
			a.undo(next)
		case c := <-s.changes:
			c.done <- a.carryOut(c)
		}
	}
}

// survives quotes a member that has died, and reports whether a fault is the cause, so that the
// session goes on. A fault that still lasts starts the member again at its end. Otherwise it is
// started at once.
func (a *attended) survives() bool {
	s := a.s
	lasts := fault.MayEnd(s.lasting())
	if !lasts && !fault.MayEnd(s.lately()) {
		a.quoteDead(a.member)
		return false
	}
	a.endedItself()
	if lasts {
		return true
	}
	err := a.Start(s.ctx, "")
	if err != nil {
		s.log.Warn("a member that a fault ended was not started again", "error", err)
	}
	return err == nil
}

// next returns the fault that is over first, and a channel that fires when it is.
func (a *attended) next() (next fault.Record, due <-chan time.Time) {
	for _, r := range a.s.lasting() {
		if due == nil || r.Applied.Add(r.For).Before(next.Applied.Add(next.For)) {
			next = r
			due = time.After(time.Until(r.Applied.Add(r.For)))
		}
	}
	return next, due
}

// carryOut applies a fault or undoes it.
func (a *attended) carryOut(c *change) changed {
	known, had := a.s.fault(c.record.ID)
	switch {
	case c.undo && !had:
		return changed{err: status.Errorf(codes.NotFound, "the session had no fault %q", c.record.ID)}
	case c.undo && !known.Over.IsZero():
		return changed{record: known}
	case c.undo:
		return changed{record: a.undo(known)}
	case had && !known.Same(c.record):
		return changed{err: status.Errorf(codes.FailedPrecondition, "the session had another fault %q: %s", known.ID, known.Kind)}
	case had:
		return changed{record: known}
	}
	return a.apply(c.record)
}

// apply applies r, which is recorded first. If it fails, it is undone at once.
func (a *attended) apply(r fault.Record) changed {
	s := a.s
	k, err := fault.Check(r)
	if err != nil {
		return changed{err: status.Error(codes.InvalidArgument, err.Error())}
	}
	s.agent.mu.Lock()
	n := len(s.now.faults)
	s.agent.mu.Unlock()
	if n >= maxFaults {
		return changed{err: tooMany()}
	}
	r.Processes = a.Processes()
	s.noteFault(r)
	if err := s.writeRecord(); err != nil {
		r.Over, r.Failed = time.Now(), err.Error()
		s.noteFault(r)
		return changed{record: r}
	}
	if r.Saw, err = k.Apply(s.ctx, a, r); err != nil {
		r.Failed = err.Error()
	}
	r.Applied = time.Now()
	s.noteFault(r)
	s.record()
	s.log.Info("fault", "id", r.ID, "kind", r.Kind, "for", r.For, "saw", r.Saw, "failed", r.Failed)
	if err != nil {
		r = a.undo(r) // it may have begun to take effect
	}
	return changed{record: r}
}

// undo undoes a fault and returns its outcome.
func (a *attended) undo(r fault.Record) fault.Record {
	s := a.s
	k, err := fault.Find(r.Kind)
	if err == nil {
		r.SawOver, err = k.Undo(s.ctx, a, r)
	}
	if err != nil {
		if r.Failed != "" {
			r.Failed += "; "
		}
		r.Failed += "undo: " + err.Error()
	}
	r.Over = time.Now()
	s.noteFault(r)
	s.record()
	s.log.Info("fault over", "id", r.ID, "kind", r.Kind, "saw", r.SawOver, "failed", r.Failed)
	return r
}

// release undoes everything that the faults would leave behind, or that would keep the member from
// ending normally.
func (a *attended) release() {
	lasting := a.s.lasting()
	var errs []error
	for _, r := range lasting {
		errs = append(errs, a.LetGo(r.ID))
	}
	if err := errors.Join(append(errs, fault.Release(lasting))...); err != nil {
		a.s.problem("a fault was not undone", err)
	}
	for _, r := range lasting {
		r.Over, r.SawOver = time.Now(), "the session ended"
		a.s.noteFault(r)
	}
}

// endedItself records that a fault made the member end, and ends the rest of it. The member is
// started again when the fault is over.
func (a *attended) endedItself() {
	s := a.s
	a.quoteDead(a.member)
	s.setDownFlag(true)
	if err := a.member.Stop(context.Background(), process.Deadlines{Kill: s.agent.opts.Deadlines.Kill}); err != nil {
		s.problem("a member that a fault ended was not ended whole", err)
	}
	s.record()
}

// Tap implements [fault.Victim].
func (a *attended) Tap() *tap.Tap { return a.p.tap }

// Processes implements [fault.Victim].
func (a *attended) Processes() (list []fault.Process) {
	for _, c := range a.member.Children() {
		if c.Running {
			list = append(list, fault.Process{Pid: c.Pid, StartTicks: c.StartTicks})
		}
	}
	return list
}

// Lasting implements [fault.Victim].
func (a *attended) Lasting() []fault.Record { return a.s.lasting() }

// End implements [fault.Victim]. The session stays running and keeps sampling. It can be stopped
// and collected from as always.
func (a *attended) End(_ context.Context, id string, graceful bool) error {
	s := a.s
	select {
	case <-a.member.Done():
		return errors.New("a command of the plan exited before the member was stopped")
	default:
	}
	a.endedBy = id
	s.setDownFlag(true)
	d := process.Deadlines{Kill: s.agent.opts.Deadlines.Kill}
	if graceful {
		d = s.agent.opts.Deadlines
	}
	if err := a.member.Stop(context.Background(), d); err != nil {
		return err
	}
	s.record()
	return nil
}

// Upgrade implements [fault.Victim]. From then on the member is the one that was planned with that
// release when the session started.
func (a *attended) Upgrade(version string) error {
	next := a.p.upgrades[version]
	if next == nil {
		return fmt.Errorf("the start of the member did not announce %s", version)
	}
	now := *a.p
	now.tools, now.plan, now.argv, now.member = next.tools, next.plan, next.argv, next.member
	a.p = &now
	s := a.s
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	s.now.planned = a.p
	return nil
}

// Ended implements [fault.Victim].
func (a *attended) Ended(id string) bool { return a.endedBy == id }

// Start implements [fault.Victim]. A member that cannot be started stays down.
func (a *attended) Start(ctx context.Context, id string) error {
	s := a.s
	if !s.isDown() || a.endedBy != "" && a.endedBy != id {
		return nil
	}
	a.endedBy = ""
	again, err := a.resume(ctx)
	if err != nil {
		return err
	}
	a.member = again
	s.setDownFlag(false)
	a.running(again)
	return nil
}

// resume starts the member as soon as possible: a killed process may keep its addresses for a
// moment.
func (a *attended) resume(ctx context.Context) (*member.Member, error) {
	waiting, cancel := context.WithTimeout(ctx, freeTimeout)
	defer cancel()
	for {
		again, err := member.Resume(ctx, a.memberOptions())
		if !errors.Is(err, member.ErrTaken) || !sleep.For(waiting, freeEvery) {
			return again, err
		}
	}
}
