package load

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/load/contenders"
	"github.com/coreos/dbtester/pkg/load/pool"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/load/versions"
	"github.com/coreos/dbtester/pkg/load/wakeup"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// step is the state of a running step.
type step struct {
	plan
	rec     *Recorder
	dealer  *schedule.Dealer // deals from schedule; nil if requests are not bound to clients
	stop    *stopTime
	deletes bool // keys may be gone because the load deletes
	// exhausted, stop and the recorder's issueEnd end client waits.
	exhausted exhausted
	wakeup    *wakeup.Wakeup
	alarms    *poller.Alarms // nil where only Go timers end waits
	conns     []*connection
	abandon   context.CancelCauseFunc // ends the step with an error
	// versions is nil in a load without transactions. versionReads counts the version reads since
	// the step began.
	versions     *versions.Table
	versionReads atomic.Int64
	sessions     *pool.Pool       // that operations take
	contenders   *contenders.Pool // that take locks for operations
}

// wait sleeps until a time for which a timer is set, or until issuing ends.
func (s *step) wait(timer *time.Timer, until int64) {
	s.wakeup.Add(until)
	select {
	case <-timer.C:
		s.wakeup.Next()
	case <-s.stop.passed:
	}
}

// drained returns when a rate's drain ends: no request is sent from then on.
func (s *step) drained() int64 {
	end := s.rec.issueEnd.at()
	if end > math.MaxInt64-int64(s.spec.Drain) {
		return math.MaxInt64
	}
	return end + int64(s.spec.Drain)
}

// exhaust notes that no request is left to take. A closed loop then ends issuing; a rate ends it
// after the due time of its last request.
func (s *step) exhaust() {
	s.exhausted.once.Do(func() {
		if !s.rated() {
			s.rec.endIssue(func() int64 { return s.rec.clock.Now() + 1 })
		}
		close(s.exhausted.done)
	})
}

// watchStop ends issuing when ctx ends or the step duration is over.
func (s *step) watchStop(ctx, own context.Context) {
	defer func() {
		close(s.stop.passed)
		s.alarms.EndWaits()
	}()
	var over <-chan time.Time
	planned := s.stop.at()
	if s.Duration > 0 {
		t := time.NewTimer(time.Duration(planned - s.rec.clock.Now()))
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ctx.Done():
		s.rec.endIssue(func() int64 { return s.stop.interrupt(s.rec.clock.Now) })
	case <-over:
		s.rec.issueEnd.atMost(planned)
	case <-own.Done():
	}
}

// awaitEnd waits until the duration of a rate ends. The last request may end earlier, and the
// remaining time, in which nothing more is due, belongs to the measured window.
func (s *step) awaitEnd() {
	if s.rated() && s.Duration > 0 && s.rec.issueEnd.at() >= s.start+int64(s.Duration) {
		<-s.stop.passed
	}
}
