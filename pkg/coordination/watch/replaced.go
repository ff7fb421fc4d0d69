package watch

import (
	"cmp"
	"math"
	"slices"
)

func newReplaced(unsure int64) *replaced {
	return &replaced{unsure: unsure, recent: map[int64][]settled{}, waiting: map[int64][]*write{}}
}

// drop forgets all settled versions.
func (r *replaced) drop() {
	for _, list := range r.recent {
		for _, one := range list {
			r.lost, r.until = max(r.lost, one.version), max(r.until, one.until)
		}
	}
	clear(r.recent)
	r.kept = 0
}

// wait takes a write that no watcher has received, and whose version is not known.
func (r *replaced) wait(w *write) {
	w.bounds = &bounds{vague: w.sent <= r.until+2*r.unsure}
	for _, one := range r.recent[w.key] {
		r.compare(w, one)
	}
	if w.bounds.surely.version == 0 {
		r.waiting[w.key] = append(r.waiting[w.key], w)
	}
}

// heard takes a write that was passed to wait and that a watcher has received after all.
func (r *replaced) heard(w *write) {
	r.drain(w.key, func(o *write) bool { return o == w })
}

// drain removes writes to a key that no longer need to wait.
func (r *replaced) drain(key int64, gone func(*write) bool) {
	if list := slices.DeleteFunc(r.waiting[key], gone); len(list) > 0 {
		r.waiting[key] = list
	} else {
		delete(r.waiting, key)
	}
}

// compare improves a write's bounds by a version of its key.
func (r *replaced) compare(w *write, one settled) {
	b := w.bounds
	if one.made < w.sent-2*r.unsure {
		return // older
	}
	if b.maybe.version == 0 || one.version < b.maybe.version {
		b.maybe = one
	}
	if one.sent > w.end+2*r.unsure && (b.surely.version == 0 || one.version < b.surely.version) {
		b.surely = one
	}
}

// next returns when all watchers had received the version of a key that followed another, 0 if
// that is not known; found is false if no such version is settled.
func (r *replaced) next(key, version int64) (all int64, found bool) {
	if version < r.lost {
		return 0, true
	}
	list := r.recent[key]
	at, _ := slices.BinarySearchFunc(list, version+1, func(one settled, version int64) int { return cmp.Compare(one.version, version) })
	if at == len(list) {
		return 0, false
	}
	return list[at].all, true
}

// forget drops versions that are surely older than every write that was not passed yet: such writes
// were sent after a moment.
func (r *replaced) forget(before int64) {
	for key, list := range r.recent {
		kept := slices.DeleteFunc(list, func(one settled) bool { return one.until+2*r.unsure < before })
		r.kept += len(kept) - len(list)
		if r.recent[key] = kept; len(kept) == 0 {
			delete(r.recent, key)
		}
	}
}

// allHeard returns when an entry, or a newer one for its key, was received by the last watcher that
// watched at a time and is not slow; 0 if there is no such watcher.
func (s *sequence) allHeard(e *entry, since int64) (last int64) {
	for place, at := range e.heard {
		if w := s.watchers[place]; w.since > 0 && w.since <= since && !w.slow {
			last = max(last, at, -at)
		}
	}
	return last
}

// mostVague is by which factor a time may exceed the least possible one.
const mostVague = 2

// replacedAt returns when all watchers had received a newer write than this one, which no watcher
// received and whose version is not known, or 0 if that is not known. If writes to the key
// overlapped it may be later than that, as their order is not known. The time since the write was
// sent is at most mostVague times the true one.
func (w *write) replacedAt() int64 {
	b := w.bounds
	if b == nil || b.vague || b.maybe.all == 0 || b.surely.all == 0 {
		return 0
	}
	if least, most := b.maybe.all-w.sent, b.surely.all-w.sent; most > mostVague*least {
		return 0
	}
	return b.surely.all
}

// settle takes an entry that leaves its sequence.
func (r *replaced) settle(e *entry) {
	one := settled{version: e.version, all: e.all, sent: math.MinInt64, made: math.MaxInt64, until: max(e.first, e.last)}
	if e.first > 0 {
		one.made = e.first
	}
	if w := e.write; w != nil {
		one.sent, one.until = w.sent, max(one.until, w.end)
		if w.acked {
			one.made = min(one.made, w.end)
		}
	}
	for _, w := range r.waiting[e.key] {
		r.compare(w, one)
	}
	r.drain(e.key, func(w *write) bool { return w.bounds.surely.version > 0 })
	if r.kept >= mostSettled {
		r.drop()
	}
	list := r.recent[e.key]
	at, _ := slices.BinarySearchFunc(list, one, func(a, b settled) int { return cmp.Compare(a.version, b.version) })
	r.recent[e.key] = slices.Insert(list, at, one)
	r.kept++
}

// mostSettled bounds the settled versions that a sequence keeps.
const mostSettled = 1 << 18
