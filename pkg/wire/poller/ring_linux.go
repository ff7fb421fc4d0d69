package poller

import (
	"slices"

	"github.com/coreos/dbtester/pkg/wire/fiber"
)

// add adds an alarm, unless its kind has ended: then it returns false. It wakes the goroutine if the
// goroutine would sleep longer.
func (s *set) add(w alarm) bool {
	added, early := s.clock.insert(w)
	if early {
		s.wake()
	}
	return added
}

// call calls a function unless the alarms are closed.
func (a *Alarms) call(w alarm) {
	a.ringing.Lock()
	defer a.ringing.Unlock()
	if a.set.clock.isClosed(a) {
		return
	}
	if next := w.do(); next != never {
		w.at = next + a.shift
		a.set.add(w)
	}
}

// ring ends the due waits. It returns the nanoseconds until the next one is due.
func (s *set) ring(e *events) (next int64) {
	e.rung, next = s.clock.ended(e.rung[:0])
	for i := range e.rung {
		s.quiet = s.quiet && e.rung[i].fiber == nil
	}
	ringAll(e.rung, &e.batch)
	clear(e.rung)
	return next
}

// ringAll ends waits, and then writes the requests of fibers.
func ringAll(list []alarm, b *fiber.Batch) {
	for _, w := range share(list, func(others []alarm) { ringAll(others, new(fiber.Batch)) }) {
		if w.fiber != nil {
			w.fiber.ContinueIn(b)
		} else {
			w.of.call(w)
		}
	}
	b.Run()
}

// share returns the part of the work that its caller does. If there is much, another goroutine does
// half of it, which is worth waking a thread.
func share[T any](all []T, do func([]T)) []T {
	const few = 32
	for len(all) > few {
		half := len(all) / 2
		others := slices.Clone(all[half:])
		go do(others)
		all = all[:half]
	}
	return all
}
