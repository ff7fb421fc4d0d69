package session

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/sleep"
)

// Stops of this process are found by a timer that fires late. Ends of keys that are read within
// apart after one may have come during it.
const (
	beat  = 10 * time.Millisecond
	least = 50 * time.Millisecond
	apart = 50 * time.Millisecond
)

// stops are times in which this process did not run.
type stops struct {
	mu  sync.Mutex
	all []stop
}

type stop struct{ from, to time.Time }

// watch notes stops until ctx ends.
func (s *stops) watch(ctx context.Context) {
	for last := time.Now(); sleep.For(ctx, beat); {
		now := time.Now()
		if now.Sub(last) > beat+least {
			s.mu.Lock()
			s.all = append(s.all, stop{last, now})
			s.mu.Unlock()
		}
		last = now
	}
}

// before returns the beginning of the stop that may have delayed the reading of something, zero
// for none, and its length.
func (s *stops) before(read time.Time) (from time.Time, length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		if !read.Before(one.from) && read.Before(one.to.Add(apart)) {
			return one.from, one.to.Sub(one.from)
		}
	}
	return time.Time{}, 0
}
