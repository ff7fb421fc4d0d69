package load

import (
	"runtime"
	"time"

	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/results"
)

// shards divide the clients among them, so that clients rarely wait for one
// another to record.
type shards struct {
	all   []*shard
	spare slot // for the flusher: the empty slot that the next shard gets
}

// newShards returns a shard for each processor, at least 2 and at most 16, with slots of that size.
// A request holds its shard's lock for a fraction of a microsecond, and shard histograms take more
// memory than a hundred clients.
func newShards(c clock.Clock, end *issueEnd, size int) *shards {
	s := &shards{all: make([]*shard, min(max(runtime.GOMAXPROCS(0), 2), 16)), spare: make(slot, size)}
	for i := range s.all {
		s.all[i] = &shard{end: end, open: openSeconds{clock: c}, slots: [2]slot{make(slot, size), make(slot, size)}}
	}
	return s
}

// of returns the shard into which client n records.
func (s *shards) of(n int) *shard { return s.all[n%len(s.all)] }

// allocate makes the histograms for the tallies in the half-open range [from, to).
func (s *shards) allocate(from, to int, rated bool) {
	s.spare.allocate(from, to, rated)
	for _, one := range s.all {
		one.slots[0].allocate(from, to, rated)
		one.slots[1].allocate(from, to, rated)
		if rated {
			one.late.allocate()
		}
	}
}

// begin prepares for a step whose first second follows flushed. Flights belong to its
// clients, in order.
func (s *shards) begin(flushed int64, p *plan, g grid, flights []*flight) {
	for _, one := range s.all {
		one.begin(flushed, p, g)
	}
	for n, f := range flights {
		s.of(n).add(f)
	}
}

// hold calls a function while nothing is recorded.
func (s *shards) hold(do func()) {
	for _, one := range s.all {
		one.mu.Lock()
		defer one.mu.Unlock()
	}
	do()
}

// take closes a second in every shard, adds slots from all shards to an empty one, adds the ticks
// before number end and the counts by member to lists, and returns the bytes read. One goroutine at
// a time calls it.
func (s *shards) take(sec int64, into slot, end int64, ticks *[]tickCounts, members *[]results.MemberSecond) (read int64) {
	for _, one := range s.all {
		s.spare = one.take(sec, s.spare, end, ticks, members)
		for n := range into {
			read += s.spare[n].read
			into[n].absorb(&s.spare[n])
		}
	}
	return read
}

// end forgets the flights and returns client time inside calls, their time without a server, and
// their own delay.
func (s *shards) end() (inside, waited, delay time.Duration) {
	for _, one := range s.all {
		i, w, d := one.stop()
		inside += time.Duration(i)
		waited += time.Duration(w)
		delay += time.Duration(d)
	}
	return inside, waited, delay
}

// members moves the step's histograms by member into one for each.
func (s *shards) members() *memberCounts {
	all := &memberCounts{}
	for _, one := range s.all {
		one.takeMembers(all)
	}
	return all
}

// forget forgets the lateness in the steps so far.
func (s *shards) forget() {
	for _, one := range s.all {
		one.forget()
	}
}

// lateness merges the lateness of all shards.
func (s *shards) lateness() results.Spread {
	var all summary
	for _, one := range s.all {
		one.addLateness(&all)
	}
	return all.spread()
}
