package load

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/workload"
)

// continues reports whether everything that clients wait for with each request continues fibers:
// they wait for answers from the database clients, and have no connections of their own.
func (s *step) continues() bool {
	return !slices.Contains(s.rec.accounts.ops, workload.OpReadOneshot) && !slices.ContainsFunc(s.rec.accounts.ops, workload.Op.Locks) &&
		!slices.ContainsFunc(s.conns, func(c *connection) bool {
			l := c.current.Load()
			return l == nil || !database.Continues(l.client)
		})
}

// inFibers reports whether the clients run as fibers. Clients with a rate also wait for due
// times.
func (s *step) inFibers() bool { return (!s.rated() || s.alarms != nil) && s.continues() }

// startFibers starts clients as fibers, on a few goroutines: a goroutine for each fiber would leave
// its stack behind. A closed loop starts when the step does, and the first requests on one
// connection are written before those on the next are made, so that a few buffers serve all.
// Clients with a rate wait for their first requests.
func (s *step) startFibers(clients *sync.WaitGroup, all []*client) {
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(s.conns)) {
		clients.Go(func() {
			if !s.rated() {
				timer := time.NewTimer(time.Duration(s.start - s.rec.clock.Now()))
				defer timer.Stop()
				s.wait(timer, s.start)
			}
			for c := next.Add(1) - 1; c < int64(len(s.conns)); c = next.Add(1) - 1 {
				for n := c; n < int64(len(all)); n += int64(len(s.conns)) {
					fiber.Go(clients, all[n].run)
				}
				if !s.rated() {
					runtime.Gosched() // to the writing goroutine
				}
			}
		})
	}
}
