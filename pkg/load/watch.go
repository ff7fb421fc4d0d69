package load

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/load/stops"
)

// watch samples the scheduling lag and cancels calls whose deadline has passed. It ends when the
// returned function is called, after own has ended. The goroutine that reads connections does
// both in one wait; it checks deadlines with the sampling beats if these are frequent enough.
func (s *step) watch(own context.Context, helpers *sync.WaitGroup, all []*client) (end func()) {
	if s.alarms == nil {
		helpers.Go(func() { s.rec.lag.watch(own) })
		helpers.Go(func() { s.watchDeadlines(own, all) })
		return func() {}
	}
	w, every := s.rec.lag.begin(), s.deadlineEvery()
	looked := w.Since
	s.alarms.Call(w.Due, func() int64 {
		next := w.beat()
		if every >= stops.Every && time.Duration(next-looked) > every {
			s.expire(all)
			looked = w.Since
		}
		return next
	})
	if every > 0 && every < stops.Every {
		s.alarms.Call(w.Due, func() int64 {
			s.expire(all)
			return s.rec.clock.Now() + int64(every)
		})
	}
	return func() {
		s.alarms.Close()
		w.End()
	}
}
