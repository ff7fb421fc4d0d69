package load

import "github.com/coreos/dbtester/pkg/load/clock"

// Observer is a [Sink] that also sees every request. Requests shed or left unsent are not among
// them.
type Observer interface {
	Sink
	// Observe receives ended requests, in no order, and a moment: every request sent before it has
	// ended and was passed by this call or an earlier one. The moment never decreases. Observe is
	// called once a second, as soon as some 8,000 requests have ended, and at the end of a step.
	// Ended is valid during the call. While the observer is behind by mostPages, clients wait
	// before they take their next request.
	Observe(ended []Ended, before int64) error
}

// Watch is an [Observer]'s method.
type Watch func(ended []Ended, before int64) error

// Observe implements [Observer].
func (w Watch) Observe(ended []Ended, before int64) error { return w(ended, before) }

// history holds the requests not yet seen by an observer. Clients append to the pages of their
// shard, under the shard lock that they hold in any case, so that no client waits for another or
// for the observer.
type history struct {
	clock    clock.Clock
	unix     int64 // when the clock begins, in nanoseconds
	observer Observer
	shards   *shards
	// descheduled is called after a client has read the clock for a request, before its flight
	// shows the request; nil outside tests.
	descheduled func()

	// Only the delivering goroutine uses these.
	taken  [][]Ended
	before int64

	pool pagePool
}

// newHistory returns nil for a sink that does not observe.
func newHistory(c clock.Clock, sink Sink, s *shards) *history {
	observer, ok := sink.(Observer)
	if !ok {
		return nil
	}
	h := &history{clock: c, unix: c.Time(0).UnixNano(), observer: observer, shards: s}
	h.pool.most, h.pool.hurry = mostPages, make(chan struct{}, 1)
	for _, one := range s.all {
		one.pages.pool = &h.pool
	}
	return h
}

// begin prepares for a step with that many clients.
func (h *history) begin(clients int) {
	if h == nil {
		return
	}
	h.pool.begin(clients, len(h.shards.all))
}

// hurried returns the channel that asks for delivery at once, nil without an observer.
func (h *history) hurried() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.pool.hurry
}

// deliver passes all ended requests to the observer. One goroutine at a time calls it.
func (h *history) deliver(keep func(error)) {
	now := h.clock.Now() // before any flight is looked at: see flight.earliest
	before := now
	for _, s := range h.shards.all {
		before = min(before, s.takeEnded(now, &h.taken))
	}
	for _, page := range h.taken {
		keep(h.observer.Observe(page, h.before))
	}
	h.before = h.unix + before
	keep(h.observer.Observe(nil, h.before))
	h.pool.giveBack(h.taken)
	clear(h.taken)
	h.taken = h.taken[:0]
}

// takeWaits returns the waits since the last call.
func (h *history) takeWaits() Waits {
	if h == nil {
		return Waits{}
	}
	return h.pool.takeWaits()
}
