// Package deliver reports changes of keys to watchers some time after they were made, and lies
// about some on purpose.
package deliver

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/sleep"
)

// Lie is an error made on purpose in some deliveries.
type Lie string

// The lies.
const (
	Honest Lie = ""
	// Lose drops a delivery.
	Lose Lie = "lose"
	// Double makes it twice.
	Double Lie = "double"
	// Swap makes it after the next one to the same watcher.
	Swap Lie = "swap"
)

// Lies returns all lies.
func Lies() []Lie { return []Lie{Lose, Double, Swap} }

// Law is when deliveries are made, and which are wrong.
type Law struct {
	// Delay is from a change to its deliveries.
	Delay time.Duration
	// Lie applies to every n-th delivery, for n in Every.
	Lie   Lie
	Every int
	// CatchUp, if not 0, is the number of deliveries per second to a connection that is behind:
	// from when a delivery is late by more than lateAfter until nothing is left. Marks wait until
	// then, as progress reports in etcd do.
	CatchUp int
}

const (
	lateAfter = time.Second
	// portions is how many times a second a lagging connection gets deliveries.
	portions = 100
)

// Valid returns an error for a law that cannot be.
func (l Law) Valid() error {
	switch {
	case l.Delay < 0:
		return fmt.Errorf("watch_delay must be at least 0, got %v", l.Delay)
	case l.Lie != Honest && !slices.Contains(Lies(), l.Lie):
		return fmt.Errorf("watch_lie must be one of %q, got %q", Lies(), l.Lie)
	case l.Lie != Honest && l.Every < 1:
		return fmt.Errorf("watch_lie_every must be at least 1, got %d", l.Every)
	case l.CatchUp < 0:
		return fmt.Errorf("deliveries a second to a connection that is behind must be at least 0, got %d", l.CatchUp)
	}
	return nil
}

// Change is a new value of a key.
type Change struct {
	Key, Value []byte
	Version    int64
}

// Delivery is a change as a watcher sees it, or a mark in the order of deliveries.
type Delivery struct {
	Watcher int32
	Change
	// Mark is not nil in a mark, which [Queue.Mark] was given.
	Mark []byte
	// Gap means that changes up to the version were discarded, which the watcher did not receive.
	Gap bool
	due time.Time
}

// Hub knows all queues. It is safe for concurrent use.
type Hub struct {
	law     Law
	mu      sync.Mutex
	version int64
	count   int
	queues  []*Queue
	lies    []Delivery

	// The past is kept from the first queue on.
	keeps     bool
	past      []Change
	size      int   // its bytes
	discarded int64 // up to this version
}

// mostPast bounds the keys and values of the past, in bytes.
const mostPast = 16 << 20

// NewHub returns a hub without watchers, after a version.
func NewHub(law Law, version int64) *Hub { return &Hub{law: law, version: version, discarded: version} }

// Publish delivers a change to all watchers of its key. Versions rise from call to call. Key and
// value do not change afterwards.
func (h *Hub) Publish(c Change, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version = c.Version
	h.keep(c)
	for _, q := range h.queues {
		q.publish(c, now.Add(h.law.Delay))
	}
}

// keep keeps a change for watchers that resume, and discards the oldest.
func (h *Hub) keep(c Change) {
	if !h.keeps {
		h.discarded = c.Version
		return
	}
	h.past = append(h.past, c)
	h.size += len(c.Key) + len(c.Value)
	if h.size <= mostPast {
		return
	}
	n := 0
	for ; h.size > mostPast/2; n++ {
		h.size -= len(h.past[n].Key) + len(h.past[n].Value)
		h.discarded = h.past[n].Version
	}
	h.past = slices.Clone(h.past[n:])
}

// Discard discards the past.
func (h *Hub) Discard() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past, h.size, h.discarded = nil, 0, h.version
}

// lie returns which lie the next delivery is.
func (h *Hub) lie(d Delivery) Lie {
	h.count++
	if h.law.Lie == Honest || h.count%h.law.Every != 0 {
		return Honest
	}
	h.lies = append(h.lies, d)
	return h.law.Lie
}

// Lied returns the deliveries with lies.
func (h *Hub) Lied() []Delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.lies)
}

// told removes a delivery from the lies, because it turned out correct.
func (h *Hub) told(watcher int32, d Delivery) {
	h.lies = slices.DeleteFunc(h.lies, func(lie Delivery) bool { return lie.Watcher == watcher && lie.Version == d.Version })
}

// Queue returns a new queue, for the watchers of one connection.
func (h *Hub) Queue() *Queue {
	q := &Queue{hub: h, wake: make(chan struct{}, 1), held: map[int32]Delivery{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keeps = true
	h.queues = append(h.queues, q)
	return q
}

// Remove ends the watches of a queue.
func (h *Hub) Remove(q *Queue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queues = slices.DeleteFunc(h.queues, func(other *Queue) bool { return other == q })
	for id, d := range q.held {
		h.told(id, d) // it was never delivered
	}
	clear(q.held)
}

// Queue has the deliveries for one connection in order. It is safe for concurrent use.
type Queue struct {
	hub  *Hub
	wake chan struct{}

	// The hub lock guards these.
	watchers []watcher
	held     map[int32]Delivery // to be made after the next one to the same watcher

	mu      sync.Mutex
	waiting []Delivery

	// These belong to the goroutine of Run.
	behind bool
	marks  []Delivery // that wait until it is not
}

type watcher struct {
	id   int32
	keys Keys
}

// Keys selects a key, the keys in a half-open range, or all keys that begin with a prefix.
type Keys struct {
	First  []byte
	End    []byte // of a half-open range, else nil
	Prefix bool   // First is their common prefix
}

// has reports whether a key is selected.
func (k Keys) has(key []byte) bool {
	switch {
	case k.Prefix:
		return bytes.HasPrefix(key, k.First)
	case k.End != nil:
		return bytes.Compare(key, k.First) >= 0 && bytes.Compare(key, k.End) < 0
	}
	return bytes.Equal(key, k.First)
}

// Watch adds a watcher for keys. Changes above the version it returns are delivered.
func (q *Queue) Watch(id int32, keys Keys) (after int64) {
	keys.First, keys.End = bytes.Clone(keys.First), bytes.Clone(keys.End)
	q.hub.mu.Lock()
	defer q.hub.mu.Unlock()
	q.watchers = append(q.watchers, watcher{id, keys})
	return q.hub.version
}

// Resume continues watching for a watcher that knows all changes up to a version.
func (q *Queue) Resume(id int32, keys Keys, after int64, now time.Time) {
	keys.First, keys.End = bytes.Clone(keys.First), bytes.Clone(keys.End)
	q.hub.mu.Lock()
	defer q.hub.mu.Unlock()
	w := watcher{id, keys}
	due := now.Add(q.hub.law.Delay)
	if after < q.hub.discarded {
		q.add(Delivery{Watcher: id, Change: Change{Version: q.hub.discarded}, Gap: true, due: due})
	}
	for _, c := range q.hub.past {
		if c.Version > after {
			q.tell(w, c, due)
		}
	}
	q.watchers = append(q.watchers, w)
}

// publish is called under the hub lock.
func (q *Queue) publish(c Change, due time.Time) {
	for _, w := range q.watchers {
		q.tell(w, c, due)
	}
}

// tell queues a change for a watcher, unless it concerns another key.
func (q *Queue) tell(w watcher, c Change, due time.Time) {
	if !w.keys.has(c.Key) {
		return
	}
	d := Delivery{Watcher: w.id, Change: c, due: due}
	if held, any := q.held[w.id]; any {
		held.due = due
		q.add(d)
		q.add(held)
		delete(q.held, w.id)
		return
	}
	switch q.hub.lie(d) {
	case Lose:
		return
	case Double:
		q.add(d)
	case Swap:
		q.held[w.id] = d
		return
	}
	q.add(d)
}

// Mark adds a mark behind all deliveries for earlier changes, also those that are held.
func (q *Queue) Mark(mark []byte, now time.Time) {
	q.hub.mu.Lock()
	defer q.hub.mu.Unlock()
	due := now.Add(q.hub.law.Delay)
	for id, d := range q.held {
		d.due = due
		q.add(d)
		delete(q.held, id)
		q.hub.told(id, d) // no delivery overtook it
	}
	q.add(Delivery{Mark: bytes.Clone(mark), due: due})
}

func (q *Queue) add(d Delivery) {
	q.mu.Lock()
	q.waiting = append(q.waiting, d)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default: // it is awake
	}
}

// Run makes the deliveries, those due at the same time in one call, until ctx ends or deliver
// returns an error.
func (q *Queue) Run(ctx context.Context, deliver func([]Delivery) error) {
	for {
		q.mu.Lock()
		n, wait := 0, time.Duration(-1)
		for now := time.Now(); n < len(q.waiting); n++ {
			if wait = q.waiting[n].due.Sub(now); wait > 0 {
				break
			}
		}
		if q.late(n) {
			n = min(n, max(1, q.hub.law.CatchUp/portions))
		}
		due := q.waiting[:n:n]
		if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
			q.waiting = nil
		}
		q.mu.Unlock()
		switch {
		case n > 0:
			if q.behind && !sleep.For(ctx, time.Duration(n)*time.Second/time.Duration(q.hub.law.CatchUp)) {
				return
			}
			if deliver(q.withMarks(due)) != nil || ctx.Err() != nil {
				return
			}
		case wait > 0:
			if !sleep.For(ctx, wait) {
				return
			}
		default:
			select {
			case <-q.wake:
			case <-ctx.Done():
				return
			}
		}
	}
}

// late reports whether the connection is behind and cannot get all n deliveries that are due.
func (q *Queue) late(n int) bool {
	if q.hub.law.CatchUp == 0 || n == 0 {
		return false
	}
	q.behind = (q.behind || time.Since(q.waiting[0].due) > lateAfter) && n > q.hub.law.CatchUp/portions
	return q.behind
}

// withMarks returns the deliveries without marks if the connection is behind, else with all marks
// that waited.
func (q *Queue) withMarks(due []Delivery) []Delivery {
	if !q.behind {
		due = append(due, q.marks...)
		q.marks = nil
		return due
	}
	made := due[:0:0]
	for _, d := range due {
		if d.Mark != nil {
			q.marks = append(q.marks, d)
		} else {
			made = append(made, d)
		}
	}
	return made
}
