package consistency

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// linearizable decides by trying every order of the requests on one register, without zones.
// Requests with unknown outcomes may take effect at any time after they were sent, or not at all.
// The history has at most 64 requests.
func linearizable(h []Op, initial int64) bool {
	type state struct {
		done  uint64
		value int64
	}
	seen := map[state]bool{}
	var must uint64
	for n := range h {
		if h[n].Outcome != Unknown {
			must |= 1 << n
		}
	}
	var try func(s state) bool
	try = func(s state) bool {
		if s.done&must == must {
			return true
		}
		if seen[s] {
			return false
		}
		seen[s] = true
		deadline := int64(never)
		for n := range h {
			if s.done&(1<<n) == 0 && h[n].Outcome != Unknown {
				deadline = min(deadline, h[n].End)
			}
		}
		for n := range h {
			if s.done&(1<<n) != 0 || h[n].Sent > deadline {
				continue
			}
			if value, legal := apply(&h[n], s.value); legal && try(state{s.done | 1<<n, value}) {
				return true
			}
		}
		return false
	}
	return try(state{0, initial})
}

// apply returns the value of a register after a request, and whether the answer is legal.
func apply(o *Op, value int64) (after int64, legal bool) {
	if o.Outcome == NotFound {
		return value, value == Absent
	}
	switch o.Kind {
	case Write:
		if o.Outcome == Failed {
			return value, true
		}
		return o.Request, true
	case Delete:
		return Absent, true
	case Swap:
		if o.Outcome == Failed {
			return value, !o.Known || value == o.Read
		}
		return o.Request, value == o.Read
	}
	return value, value == o.Read
}

// recipe describes random histories.
type recipe struct {
	clients, requests int
	// Shares of requests, from 0 to 1.
	unknown, failed, lies float64
	swaps, deletes        float64
}

// history returns requests on one key, each of which took effect at a moment between when it was
// sent and ended. Lies read earlier values, and failed writes that took effect.
func (c recipe) history(r *rand.Rand, initial int64) []Op {
	free := make([]int64, c.clients) // when each client is free
	now, value := int64(0), initial
	values := []int64{initial}
	var h []Op
	for n := range c.requests {
		client := r.IntN(c.clients)
		sent := max(free[client], now-int64(r.IntN(60)))
		now = max(sent, now) + int64(r.IntN(2))
		o := Op{Request: int64(n + 1), Sent: sent, End: now + int64(r.IntN(60)), Client: int32(client)}
		free[client] = o.End + int64(r.IntN(2))
		lie := r.Float64() < c.lies
		seen := value
		if lie {
			seen = values[max(0, len(values)-1-r.IntN(3))]
		}
		switch p := r.Float64(); {
		case p < c.deletes:
			o.Kind = Delete
		case p < c.deletes+c.swaps:
			o.Kind, o.Read, o.Known = Swap, seen, true
		case p < 0.5+c.deletes/2+c.swaps/2:
			o.Kind = Write
		default:
			o.Kind, o.Read, o.Known = Read, seen, true
		}
		if o.Known && o.Read == Absent {
			o.Read, o.Known, o.Outcome = 0, false, NotFound
		}
		c.write(r, &o, lie, &value)
		if o.Kind != Read && o.Kind != Delete {
			values = append(values, o.Request)
		}
		h = append(h, o)
	}
	return h
}

// write draws the outcome of a request that writes, and applies it.
func (c recipe) write(r *rand.Rand, o *Op, lie bool, value *int64) {
	if o.Kind == Read || o.Outcome == NotFound {
		return
	}
	applied := true
	switch p := r.Float64(); {
	case p < c.unknown:
		o.Outcome, applied = Unknown, r.IntN(2) == 0
	case p < c.unknown+c.failed && o.Kind != Delete:
		o.Outcome, applied = Failed, lie
	}
	switch {
	case !applied:
	case o.Kind == Delete:
		*value = Absent
	default:
		*value = o.Request
	}
}

// deliver passes a history to a judge in batches of random sizes, in the order in which requests
// ended, and returns its counts. The moment of a batch is when the first request in a later batch
// was sent, or somewhat earlier.
func deliver(r *rand.Rand, j *Judge, h []Op) Counts {
	h = slices.Clone(h)
	slices.SortStableFunc(h, func(a, b Op) int { return cmp.Compare(a.End, b.End) })
	for from := 0; from < len(h); {
		to := from + 1 + r.IntN(min(12, len(h)-from))
		before := h[to-1].End // the next one may be sent then
		for _, o := range h[to:] {
			before = min(before, o.Sent)
		}
		batch := slices.Clone(h[from:to])
		r.Shuffle(len(batch), func(a, b int) { batch[a], batch[b] = batch[b], batch[a] })
		j.Second(batch, before-int64(r.IntN(2)*r.IntN(40)))
		from = to
	}
	j.Finish()
	return j.Totals()
}

// judgeOf returns a judge for keys that have an initial value, or Absent, before the first request.
func judgeOf(initial int64, deletes bool) *Judge {
	return New(Options{Initial: func(int64) int64 { return initial }, Deletes: deletes})
}
