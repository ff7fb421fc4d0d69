package consistency

import (
	"container/heap"
	"math/rand/v2"
)

// store is a register for each key and the clients that use it, in simulated time. Some answers are
// lies.
type store struct {
	clients, keys   int
	writes          float64 // share of writes, up to 1; the others read, swap or delete
	swaps, deletes  float64
	unknown, failed float64
	lie             lie
	every           int // requests per lie, as far as they can be lies

	rand    *rand.Rand
	now     int64
	number  int64
	free    []int64 // by client
	values  [][]past
	flights flights
	due     []lateWrite
	batch   []Op
	lies    int
}

// lie is a way in which a store answers wrongly.
type lie string

const (
	lostAck     lie = "lost ack"
	staleRead   lie = "stale by 5 ms"
	doubleSwap  lie = "double swap"
	phantom     lie = "phantom"
	stepBack    lie = "step back"
	resurrect   lie = "resurrected delete"
	otherKey    lie = "another key's number"
	lateApplied lie = "late apply of a timed-out write"
)

// past is a value and when it was written.
type past struct{ number, at int64 }

// mostPast is the most values that are kept for a key.
const mostPast = 64

type lateWrite struct {
	at, number int64
	key        int
}

// flights are requests that have not been passed to the judge, by when they end.
type flights []Op

func (f flights) Len() int           { return len(f) }
func (f flights) Less(a, b int) bool { return f[a].End < f[b].End }
func (f flights) Swap(a, b int)      { f[a], f[b] = f[b], f[a] }
func (f *flights) Push(o any)        { *f = append(*f, o.(Op)) }
func (f *flights) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}

// judge returns a judge for the store, whose keys have the value -1-key at first.
func (s *store) judge(o Options) *Judge {
	s.rand = rand.New(rand.NewPCG(11, 12))
	s.free = make([]int64, s.clients)
	s.values = make([][]past, s.keys)
	for k := range s.values {
		s.values[k] = []past{{number: int64(-1 - k)}}
	}
	o.Initial = func(key int64) int64 { return -1 - key }
	o.Deletes = s.deletes > 0
	return New(o)
}

// step is the mean time between two requests, in nanoseconds, and hold the longest time that one
// takes.
const (
	step = 20_000
	hold = 400_000
)

// run makes requests and passes all to the judge that ended before the earliest one that may still
// follow.
func (s *store) run(j *Judge, requests int) {
	for range requests {
		heap.Push(&s.flights, s.request())
	}
	s.batch = s.batch[:0]
	for len(s.flights) > 0 && s.flights[0].End < s.now {
		s.batch = append(s.batch, heap.Pop(&s.flights).(Op))
	}
	before := s.now - hold
	for n := range s.flights {
		before = min(before, s.flights[n].Sent)
	}
	j.Second(s.batch, before)
}

// finish passes all running requests to the judge, and finishes it.
func (s *store) finish(j *Judge) {
	s.now += 10 * hold
	s.run(j, 0)
	j.Finish()
}

// request makes one request, which takes effect now.
func (s *store) request() Op {
	s.now += s.rand.Int64N(2 * step)
	for len(s.due) > 0 && s.due[0].at <= s.now {
		s.set(s.due[0].key, s.due[0].number)
		s.due = s.due[1:]
	}
	client := s.rand.IntN(s.clients)
	key := s.rand.IntN(s.keys)
	sent := max(s.free[client], s.now-s.rand.Int64N(hold))
	s.now = max(s.now, sent)
	s.number++
	o := Op{Key: int64(key), Request: s.number, Sent: sent, End: s.now + s.rand.Int64N(hold), Client: int32(client)}
	s.free[client] = o.End
	lies := s.every > 0 && s.rand.IntN(s.every) == 0
	switch p := s.rand.Float64(); {
	case p < s.writes:
		s.write(&o, key, lies)
	case p < s.writes+s.swaps:
		s.swap(&o, key, lies)
	case p < s.writes+s.swaps+s.deletes:
		o.Kind = Delete
		s.set(key, Absent)
	default:
		s.read(&o, key, lies)
	}
	return o
}

func (s *store) set(key int, number int64) {
	v := append(s.values[key], past{number: number, at: s.now})
	s.values[key] = v[max(0, len(v)-mostPast):]
}

func (s *store) value(key int) int64 { return s.values[key][len(s.values[key])-1].number }

func (s *store) write(o *Op, key int, lies bool) {
	o.Kind = Write
	p := s.rand.Float64()
	switch {
	case lies && s.lie == lostAck:
		s.lies++
	case lies && s.lie == phantom:
		s.lies++
		o.Outcome = Failed
		s.set(key, o.Request)
	case lies && s.lie == lateApplied:
		s.lies++
		o.Outcome = Unknown
		s.due = append(s.due, lateWrite{at: s.now + 50_000_000, number: o.Request, key: key})
	case p < s.unknown:
		o.Outcome = Unknown
		if s.rand.IntN(2) == 0 {
			s.set(key, o.Request)
		}
	case p < s.unknown+s.failed:
		o.Outcome = Failed
	default:
		s.set(key, o.Request)
	}
}

// swap reads some time before it replaces, and fails if the value was replaced in between.
func (s *store) swap(o *Op, key int, lies bool) {
	o.Kind = Swap
	read := o.Sent + s.rand.Int64N(s.now-o.Sent+1)
	old := s.at(key, read)
	if o.Read, o.Known = old, true; old == Absent {
		o.Read, o.Known, o.Outcome = 0, false, NotFound
		return
	}
	if old != s.value(key) {
		if !lies || s.lie != doubleSwap {
			o.Outcome = Failed
			return
		}
		s.lies++
	}
	s.set(key, o.Request)
}

// at returns a key's value at a moment.
func (s *store) at(key int, moment int64) int64 {
	v := s.values[key]
	n := len(v) - 1
	for n > 0 && v[n].at > moment {
		n--
	}
	return v[n].number
}

func (s *store) read(o *Op, key int, lies bool) {
	o.Kind = Read
	number := s.value(key)
	v := s.values[key]
	switch {
	case !lies:
	case s.lie == staleRead:
		number = s.at(key, s.now-5_000_000)
	case s.lie == stepBack && len(v) > 1:
		number = v[len(v)-2].number
	case s.lie == resurrect && number == Absent && len(v) > 1:
		number = v[len(v)-2].number
	case s.lie == otherKey:
		number = s.value((key + 1) % s.keys)
	}
	if number != s.value(key) {
		s.lies++
	}
	if o.Read, o.Known = number, true; number == Absent {
		o.Read, o.Known, o.Outcome = 0, false, NotFound
	}
}
