package cause

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/coreos/dbtester/analyze/run"
)

// model simulates a leader that takes its queued requests as a batch, works on them and syncs its
// log, one batch after the other. It asks the others meanwhile, and answers when both are done.
// Times are in simulated ms. Threads wait while other programs occupy the processor, which they do
// at times.
type model struct {
	clients       int     // in a closed loop
	rate          float64 // requests per ms; 0: a closed loop
	sync, outside float64
	peers         float64 // round trip to the others, and follower their sync
	follower      float64
	work          float64 // by the processor for each request
	busy          float64 // share of time in which others have the processor
	lock          float64 // a wait for each batch that nobody records
	stopped       float64 // share of each 100 ms in which the quota stops the leader
	seed          uint64
	inside        bool // members report the time for writes
	agrees        bool // the leader reports agreements, else round trips
}

// spent has request-milliseconds by cause, and totals for the leader.
type spent struct {
	model
	outside, stopped, syncing, peers, processors, work, rest, all float64

	answered, batches      int
	length, halted, inside float64
	syncs, trips, agreed   float64    // over all batches, as the leader measures them
	waiting                [3]float64 // by threads in the leader, the followers and the clients
	used                   float64
}

// batch has the requests that the leader works on together.
type batch struct {
	requests               int
	lock, work, sync, trip float64 // the remaining time for each
	asked                  bool
	synced, agreed         bool // noticed by its threads
}

type request struct {
	until float64
	back  bool
}

// step is the resolution of the simulation.
const step = .1

// simulate runs the model for a time, and adds up the waits in all requests.
func (m model) simulate(length float64) *spent {
	s := &spent{model: m, length: length}
	random := rand.New(rand.NewPCG(m.seed, 2))
	var away []request
	for range m.clients {
		away = append(away, request{until: random.Float64() * (m.outside + m.sync)})
	}
	queue, busy, turn := 0, false, 0.0
	var b *batch
	var asked []*batch
	for now := 0.0; now < length; now += step {
		halted := math.Mod(now, 100) < 100*m.stopped
		if m.busy > 0 && now >= turn {
			busy = !busy
			turn = now + 5*random.ExpFloat64()*map[bool]float64{true: m.busy, false: 1 - m.busy}[busy]
		}
		if m.rate > 0 && random.Float64() < m.rate*step {
			away = append(away, request{until: now + m.outside/2})
		}
		var came int
		away, came = s.travel(away, now, busy)
		queue += came
		if b == nil && queue > 0 {
			b = &batch{requests: queue, lock: m.lock, work: m.work * float64(queue), sync: m.sync * (.5 + random.Float64()), trip: m.peers + m.follower}
			queue = 0
		}
		if halted {
			s.halted += step
		}
		current := b
		if b != nil {
			on := s.lead(b, halted, busy)
			if halted {
				on = &s.stopped
			}
			s.spend(on, queue+b.requests)
			if b.asked && !slices.Contains(asked, b) {
				asked = append(asked, b)
				s.batches++
			}
			if b.synced {
				b = nil
			}
		}
		if slices.ContainsFunc(asked, func(b *batch) bool { return s.agree(b, b == current, busy) }) {
			s.waiting[1] += step
		}
		asked = slices.DeleteFunc(asked, func(b *batch) bool {
			if !b.synced || !b.agreed {
				return false
			}
			for range b.requests {
				away = append(away, request{now + m.outside/2, true})
			}
			return true
		})
	}
	return s
}

// spend counts one step for requests at the leader.
func (s *spent) spend(on *float64, requests int) {
	at := step * float64(requests)
	*on += at
	s.all, s.inside = s.all+at, s.inside+at
}

// agree does the step for a batch at the other members. It reports whether one of their threads
// waits for a processor.
func (s *spent) agree(b *batch, current, busy bool) (waits bool) {
	s.agreed += step
	on := &s.peers
	if !b.agreed {
		s.trips += step
		switch {
		case b.trip > 0:
			b.trip -= step
		case busy:
			on, waits = &s.processors, true
		default:
			b.agreed = true
		}
	}
	if !current { // whose time goes to the sync in the leader
		s.spend(on, b.requests)
	}
	return waits
}

// travel moves requests and answers on their way. It returns those that are still on it, and the
// number that came to the leader.
func (s *spent) travel(away []request, now float64, busy bool) (still []request, came int) {
	waits := 0.0
	for _, q := range away {
		s.all += step
		switch {
		case q.until > now:
			still = append(still, q)
			s.outside += step
		case !q.back:
			came++
			s.all -= step
		case busy: // its client waits for the processor
			still = append(still, q)
			waits = step
			s.processors += step
		default:
			s.answered++
			s.all -= step
			if s.rate == 0 {
				still = append(still, request{until: now + s.model.outside/2})
			}
		}
	}
	s.waiting[2] += waits
	return still, came
}

// lead does one step of a batch. It returns the counter for the time that was spent.
func (s *spent) lead(b *batch, halted, busy bool) *float64 {
	held := halted || busy
	wait := func() *float64 {
		s.waiting[0] += step
		return &s.processors
	}
	switch {
	case b.lock > 0:
		b.lock -= step
		return &s.rest
	case b.work > 0 && held:
		return wait()
	case b.work > 0:
		b.work -= step
		s.used += step
		return &s.work
	}
	b.asked = true
	s.syncs += step
	switch {
	case b.sync > 0:
		b.sync -= step
	case held:
		return wait()
	default:
		b.synced = true
	}
	return &s.syncing
}

// facts returns the facts in records about such a load.
func (s *spent) facts() *Facts {
	n := int64(s.answered)
	none, of := run.Missing("not recorded"), func(v float64) run.Measure { return run.Measured(v, n) }
	perBatch := func(v float64) run.Measure { return of(v / float64(max(s.batches, 1))) }
	share := func(v float64) run.Measure { return of(v / s.length) }
	service := run.Inapplicable("a closed loop")
	if s.rate > 0 {
		service = of(s.all / float64(n))
	}
	f := &Facts{
		Response: of(s.all / float64(n)), Service: service, Pending: share(s.all), Client: of(0),
		Throttled: share(s.halted), Periods: of(0), Syncing: share(s.syncs), Sync: perBatch(s.syncs),
		Inside: none, FollowersSync: none, Queue: none, Agreement: none, Trip: none,
		Waiting: share(s.waiting[0]), Used: share(s.used), Busy: share(s.used), Processors: of(1), Allowed: of(1 - s.model.stopped),
		Members: Load{share(s.waiting[0] + s.waiting[1]), share(s.used)}, Clients: Load{share(s.waiting[2]), of(0)},
		Shared: true, Direct: true, Acknowledged: !s.agrees,
	}
	f.Majority = f.Members.Waiting // the model has all others in one
	if s.stopped > 0 {
		f.Periods = of(1)
	}
	if s.model.inside {
		f.Inside = of(s.inside / float64(n))
	}
	if s.agrees {
		f.Agreement = perBatch(s.agreed)
	} else {
		f.Trip, f.FollowersSync = perBatch(s.trips).Times(1), of(s.follower)
		f.Trip.Value = max(f.Trip.Value-s.follower, 0)
	}
	return f
}

// truth is the share of the response time that a resource took, in percent, by the words in the
// rules. Processors that all clients wait for take the work too, and so does a quota that is used
// up: at least the same leader's response time if nothing else took time.
func (s *spent) truth(name string) float64 {
	switch f := s.facts(); {
	case name == "processors" && f.saturated():
		return max(100/s.all*(s.processors+s.work), s.alone())
	case name == "quota" && f.usedUp() > 0:
		return max(100/s.all*(s.stopped+s.work), s.alone())
	}
	return s.took(name)
}

// alone returns a leader's response time with only the same clients, work and quota, in percent of
// this leader's.
func (s *spent) alone() float64 {
	one := model{clients: s.clients, work: s.model.work, stopped: s.model.stopped, seed: s.seed}.simulate(s.length)
	return 100 * one.all / float64(one.answered) / (s.all / float64(s.answered))
}

// took is the share of the response time for which requests waited for a resource, in percent.
func (s *spent) took(name string) float64 {
	return 100 / s.all * map[string]float64{"outside": s.outside, "quota": s.stopped, "fsync": s.syncing, "peers": s.peers, "processors": s.processors}[name]
}
