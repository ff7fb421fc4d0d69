package consistency

import (
	"cmp"
	"math"
	"slices"
)

// zone is a value of a key, with the requests that wrote and read it.
type zone struct {
	number int64
	f, s   int64 // when the first of its requests ended, when the last was sent
	sent   int64 // when its write was sent
	// first and last are the requests that set f and s, with their clients, and taker is the swap
	// that replaced the value, all plus one, or 0.
	first, last, taker int64
	firstClient        int32
	lastClient         int32
	writer             int32
	reads              uint16 // a lower bound
	flags              flags
}

type flags uint8

const (
	written flags = 1 << iota
	deletes       // it is a delete, not a value
	doomed        // its write failed
	start         // it was there before the first request
)

func (z *zone) is(f flags) bool { return z.flags&f != 0 }

// search returns where a number is among zones sorted by number, and whether a zone has it.
func search(zones []zone, number int64) (at int, found bool) {
	from, to := 0, len(zones)
	for from < to {
		if middle := int(uint(from+to) / 2); zones[middle].number < number {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from, from < len(zones) && zones[from].number == number
}

// newZone returns a zone without requests.
func newZone(number int64) zone {
	return zone{number: number, f: never, s: earliest, sent: never}
}

// startZone returns the zone for a value that was there before the first request.
func startZone(number int64) zone {
	return zone{number: number, f: earliest, s: earliest + 1, sent: earliest, flags: written | start}
}

// ended notes that a request in the zone ended.
func (z *zone) ended(o *Op) {
	if o.End < z.f {
		z.f, z.first, z.firstClient = o.End, o.Request+1, o.Client
	}
}

// began notes that a request in the zone was sent.
func (z *zone) began(o *Op) {
	if o.Sent > z.s {
		z.s, z.last, z.lastClient = o.Sent, o.Request+1, o.Client
	}
}

// read notes that a request read the value.
func (z *zone) read(o *Op) {
	z.ended(o)
	z.began(o)
	if z.reads < math.MaxUint16 {
		z.reads++
	}
}

// wrote notes the request that wrote the value.
func (z *zone) wrote(o *Op) {
	z.flags |= written
	z.sent, z.writer = o.Sent, o.Client
	z.began(o)
}

// forgive resets s to when the write was sent, as if the zone had no later request.
func (z *zone) forgive() {
	z.s, z.last, z.lastClient = max(z.sent, earliest+1), z.number+1, z.writer
	if z.is(start) {
		z.last = 0
	}
}

// excludes reports whether each value must come before the other. A value whose write is still
// running excludes no other yet.
func (z *zone) excludes(y *zone) bool {
	return z.f < y.s && y.f < z.s && z.is(written) && y.is(written)
}

// fewZones or fewer are compared pair by pair.
const fewZones = 6

// sweeper finds zones of one key that exclude each other. It keeps memory for the search.
type sweeper struct {
	forward []span
}

// span is a zone with f < s, and upTo is the zone with the greatest s among it and the zones
// before it.
type span struct {
	f, s int64
	zone int
	upTo int
}

// conflict returns two zones that exclude each other, or false.
func (w *sweeper) conflict(zones []zone) (a, b int, found bool) {
	if len(zones) <= fewZones {
		for a := range zones {
			for b := range a {
				if zones[a].excludes(&zones[b]) {
					return a, b, true
				}
			}
		}
		return 0, 0, false
	}
	if a, b, found = w.sortForward(zones); found {
		return a, b, true
	}
	// A forward zone excludes a zone that is not forward if it contains it. Among the forward zones
	// that begin before it, the one with the greatest end decides.
	at := 0
	for n := range zones {
		z := &zones[n]
		if z.f < z.s || !z.is(written) {
			continue
		}
		if at = w.begunBefore(z.s, at); at > 0 {
			if f := w.forward[at-1].upTo; z.excludes(&zones[f]) {
				return n, f, true
			}
		}
	}
	return 0, 0, false
}

// mostSteps bounds the steps from the last place in the search for the next one. Zones are sorted
// by number, and so roughly by time.
const mostSteps = 16

// begunBefore returns the number of forward zones whose f is before a moment. near is the last
// result.
func (w *sweeper) begunBefore(moment int64, near int) int {
	for range mostSteps {
		switch {
		case near < len(w.forward) && w.forward[near].f < moment:
			near++
		case near > 0 && w.forward[near-1].f >= moment:
			near--
		default:
			return near
		}
	}
	from, to := 0, len(w.forward)
	for from < to {
		if middle := int(uint(from+to) / 2); w.forward[middle].f < moment {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from
}

// sort sorts the forward zones by f: by insertion if they are roughly sorted.
func (w *sweeper) sort() {
	moves := mostSteps * len(w.forward)
	for n := 1; n < len(w.forward); n++ {
		s, at := w.forward[n], n
		for ; at > 0 && w.forward[at-1].f > s.f; at-- {
			w.forward[at] = w.forward[at-1]
			moves--
		}
		w.forward[at] = s
		if moves < 0 {
			slices.SortFunc(w.forward, func(a, b span) int { return cmp.Compare(a.f, b.f) })
			return
		}
	}
}

// sortForward collects the forward zones by f, and returns two that overlap, or false.
func (w *sweeper) sortForward(zones []zone) (a, b int, found bool) {
	w.forward = w.forward[:0]
	for n := range zones {
		if z := &zones[n]; z.f < z.s && z.is(written) {
			w.forward = append(w.forward, span{f: z.f, s: z.s, zone: n})
		}
	}
	w.sort()
	high, holder := int64(math.MinInt64), 0
	for n := range w.forward {
		s := &w.forward[n]
		if n > 0 && s.f < high {
			return s.zone, holder, true
		}
		if s.s > high {
			high, holder = s.s, s.zone
		}
		s.upTo = holder
	}
	return 0, 0, false
}
