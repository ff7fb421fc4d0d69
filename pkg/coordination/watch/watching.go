package watch

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/workload"
)

// Options configure a [Watching].
type Options struct {
	// Dial opens connection n for watchers.
	Dial  func(ctx context.Context, n int, to database.Receiver) (database.Watches, error)
	Facts database.WatchFacts
	Plan  watchers.Plan
	Load  *workload.Load
	// Workers is the number of watchers that are added at the same time.
	Workers int
	// Unsure bounds the error between request times and event times, 0 if one clock has both.
	Unsure time.Duration
	// Began is called when all watchers in a stage watch, with their number.
	Began func(at time.Time, watchers int)
	// Write takes observations by second, in order, from the call to Observe or End that shows that
	// they are over. A second may come again with late observations: both add up.
	Write func([]observation.Second) error
}

// Watching runs the watchers of a run. Prepare, Run, End and Outcome are called one after the
// other, and Observe meanwhile.
type Watching struct {
	Options
	base  time.Time
	judge *judge

	mu     sync.Mutex // guards the following fields
	conns  []*connection
	stages []watchers.Stage
	ended  int                // slow connections before their time
	cut    error              // of the first one
	broken error              // of the first connection that ended
	doubt  error              // why nothing is known to be lost
	behind error              // why some events have not arrived
	hurry  context.CancelFunc // ends pauses and reconnects; nil before Run
	// catching ends the wait for slow connections after their last pause; nil before it.
	catching func()

	pauses sync.WaitGroup // and reconnects

	writing sync.Mutex // held during Write
}

// connection has some of the watchers.
type connection struct {
	of *Watching
	on database.Watches
	// watchers are changed while the lock of Watching is held.
	watchers []int32
	slow     bool
	heard    atomic.Int64 // events
	reported atomic.Int64 // when the last event arrived, or the connection was opened
	cut      atomic.Int64 // when it was closed to be opened again, 0 after the first event
	n        int          // for Dial
	adding   sync.WaitGroup

	// Under the lock of Watching.
	reopening chan struct{}      // closed when the connection is open again, nil while it is
	waits     context.CancelFunc // ends the wait until it has caught up
}

// judge compares the events that watchers receive with the writes. It is safe for concurrent use.
// Times are unix nanoseconds on one clock.
type judge struct {
	facts database.WatchFacts
	keys  keys
	// unsure bounds the error between write times and event times.
	unsure int64
	sends  []bool // by operation

	mu      sync.Mutex
	ranges  ranges
	list    []*watcher          // by number
	waiting map[request]*write  // that no watcher has received
	unknown map[*entry]struct{} // whose request is not known yet
	numbers map[request]*entry  // the same, by the number in the value
	others  others
	kept    int64 // slots for open entries, and for those that are listed
	most    int64 // that are kept, in bytes

	counts    watchers.Counts
	witnesses []watchers.Witness
	gap       *watchers.Witness // the first
	times     *times
}

// request identifies a value's write by its key and its number, which the value contains.
type request struct{ key, number int64 }

// moment returns a time in unix nanoseconds that wall clock steps do not move.
func (w *Watching) moment(at time.Time) int64 { return w.base.UnixNano() + int64(at.Sub(w.base)) }

// addTimeout bounds dialing a connection, and beginning a watch.
const addTimeout = 30 * time.Second

// barrierTimeout bounds the wait for late events after the load.
const barrierTimeout = time.Minute

// ended reports whether the connection has ended for any of its watchers.
func (c *connection) ended() bool {
	c.of.mu.Lock()
	ids := slices.Clone(c.watchers)
	c.of.mu.Unlock()
	c.of.judge.mu.Lock()
	defer c.of.judge.mu.Unlock()
	for _, id := range ids {
		if c.of.judge.list[id].broken {
			return true
		}
	}
	return false
}

// parallel calls do with the numbers below n, several at a time, each within a time, until one
// fails.
func (w *Watching) parallel(ctx context.Context, n int, each time.Duration, do func(context.Context, int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range min(n, max(w.Workers, 1)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				within, done := context.WithTimeout(ctx, each)
				err := do(within, i)
				done()
				if err != nil {
					mu.Lock()
					failed = cmp.Or(failed, err)
					mu.Unlock()
					cancel()
					return
				}
			}
		})
	}
	all.Wait()
	return failed
}

// connectionsOf returns the number of connections for that many watchers.
func (w *Watching) connectionsOf(watchers int) int {
	if w.Facts.Conns {
		return watchers
	}
	return min(watchers, w.Plan.Connections)
}

// number returns the number of watchers on a connection.
func (c *connection) number() int {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return len(c.watchers)
}
