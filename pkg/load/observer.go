package load

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/workload"
)

// Ended is one request that was sent and has ended, as an [Observer] sees it. A transaction
// of several keys is one Ended for each key. Times are unix nanoseconds of the recorder's
// clock, which steps of the wall clock do not move.
type Ended struct {
	// Number is the request's number, which is also in the value that it writes. Numbers of
	// keys written before the load are negative: see [Preload].
	Number int64
	// Key is the number of the key, 0 in a load with one key; of a range, the first.
	Key int64
	// Read is the number of the request that wrote the value that was read, if ReadKnown:
	// the value was right, and long enough to hold a number. It is NoRequest if the value was
	// wrong.
	Read int64
	// Expected is the version of the key that a transaction named, Version the one that it
	// made. They are -1 if not known.
	Expected, Version int64
	// Change is the version that a write made, counted over all keys, if the client is a
	// [database.WriteVersioner]; -1 if it is not known.
	Change int64
	// Due is when the request was due; in a closed loop it is Sent.
	Due, Sent, End int64
	// Client and Connection are numbered over all parts of a load. Member is the member that
	// the request went to, -1 if not known.
	Client, Connection, Member int32
	Op                         uint8 // index in [Spec.Operations]
	Outcome                    workload.Outcome
	ReadKnown                  bool
	Missing                    bool // it failed because the key does not exist
}

// NoRequest, in [Ended.Read], stands for a value that no request wrote to its key.
const NoRequest = math.MinInt64

// Observer is a [Sink] that also sees every request. Requests that were shed or left unsent
// are not among them.
type Observer interface {
	Sink
	// Observe receives requests that ended, in no order, and a moment: every request that was
	// sent before it has ended and was passed by this call or an earlier one. The moment never
	// decreases. Observe is called once a second, as soon as some 8,000 requests have ended, and
	// at a step's end. Ended is valid during the call. While the observer is behind by mostPages,
	// clients wait before they take their next request.
	Observe(ended []Ended, before int64) error
}

// Watch is the method of an [Observer].
type Watch func(ended []Ended, before int64) error

// Observe implements [Observer].
func (w Watch) Observe(ended []Ended, before int64) error { return w(ended, before) }

const (
	pageSize = 1024 // requests, 88 KiB
	// mostPages is how many pages of requests may wait for the observer before clients do:
	// 44 MiB.
	mostPages = 512
	// soonPages, in addition to the pages that shards fill, trigger a call of the observer at once,
	// while a processor's cache still has them. Each call looks at every client, so the number
	// grows by one page for every clientsPerPage clients.
	soonPages, clientsPerPage = 8, 256
)

// history holds the requests that an observer has not seen yet. Clients append to pages of
// their shard, under the lock of the shard that they hold in any case, so that no client waits
// for another or for the observer.
type history struct {
	clock    clock.Clock
	unix     int64 // nanoseconds of the clock's beginning
	observer Observer
	shards   *shards
	hurry    chan struct{} // asks the flusher to deliver at once
	// descheduled is called after a client has read the clock for a request, before its flight
	// shows the request; nil outside tests.
	descheduled func()

	// Of the goroutine that delivers.
	taken  [][]Ended
	before int64

	full atomic.Bool // all pages are in use

	mu    sync.Mutex
	most  int // pages
	soon  int // pages
	free  [][]Ended
	used  int
	room  chan struct{} // closed when there is room again; nil while no client waits
	waits Waits
}

// Waits counts the waits of clients and adds up their time.
type Waits struct {
	Count int64
	NS    int64
}

// newHistory returns nil for a sink that does not observe.
func newHistory(c clock.Clock, sink Sink, s *shards) *history {
	observer, ok := sink.(Observer)
	if !ok {
		return nil
	}
	h := &history{clock: c, unix: c.Time(0).UnixNano(), observer: observer, shards: s, most: mostPages, hurry: make(chan struct{}, 1)}
	for _, one := range s.all {
		one.pages.history = h
	}
	return h
}

// begin prepares for a step with a number of clients.
func (h *history) begin(clients int) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.soon = min(soonPages+clients/clientsPerPage+len(h.shards.all), h.most/2)
}

// hurried returns the channel that asks to deliver at once, nil without an observer.
func (h *history) hurried() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.hurry
}

// page returns an empty page.
func (h *history) page() []Ended {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.used++
	h.full.Store(h.used >= h.most)
	if h.used >= h.soon {
		select {
		case h.hurry <- struct{}{}:
		default: // already asked
		}
	}
	if n := len(h.free); n > 0 {
		page := h.free[n-1]
		h.free = h.free[:n-1]
		return page
	}
	return make([]Ended, 0, pageSize)
}

// deliver passes all requests that have ended to the observer. One goroutine at a time calls
// it.
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
	h.giveBack()
}

// giveBack frees the delivered pages, and lets clients that waited for pages continue.
func (h *history) giveBack() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, page := range h.taken {
		h.free = append(h.free, page[:0])
	}
	h.used -= len(h.taken)
	clear(h.taken)
	h.taken = h.taken[:0]
	h.full.Store(h.used >= h.most)
	if h.room != nil && h.used < h.most {
		close(h.room)
		h.room = nil
	}
}

// wanted returns a channel that is closed when there is room, nil if there is.
func (h *history) wanted() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.used < h.most {
		return nil
	}
	if h.room == nil {
		h.room = make(chan struct{})
	}
	return h.room
}

func (h *history) addWait(ns int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits.Count++
	h.waits.NS += ns
}

// takeWaits returns the waits since the last call.
func (h *history) takeWaits() (w Waits) {
	if h == nil {
		return Waits{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w, h.waits = h.waits, w
	return w
}

// pages are the requests of a shard that its observer has not seen. All but the last are full.
type pages struct {
	history *history // nil without an observer
	all     [][]Ended
}

// add appends requests. The shard is locked.
func (p *pages) add(ended []Ended) {
	for i := range ended {
		last := len(p.all) - 1
		if last < 0 || len(p.all[last]) == cap(p.all[last]) {
			p.all = append(p.all, p.history.page())
			last++
		}
		p.all[last] = append(p.all[last], ended[i])
	}
}

// takeEnded moves the requests that ended to a list, and returns a moment. Every request that
// the shard's clients sent before that moment has been taken by now. now is an earlier reading
// of the clock.
func (s *shard) takeEnded(now int64, to *[][]Ended) (before int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*to = append(*to, s.pages.all...)
	clear(s.pages.all)
	s.pages.all = s.pages.all[:0]
	before = now
	for _, f := range s.flights {
		before = min(before, f.earliest(now))
	}
	return before
}

// earliest returns a moment: every request that the client sent, or will send, before it has
// ended. The shard is locked, so no request ends meanwhile, and now is an earlier reading of
// the clock.
//
// An idle client reads the clock after it has set flightSending, so not before now. A client
// that has set flightSending may have read the clock already, and be descheduled since, but not
// before it was last seen idle and not before its last request ended.
func (f *flight) earliest(now int64) int64 {
	switch word := f.word.Load(); word {
	case 0:
		f.idle = now
	case flightSending:
	default:
		return sentAt(word)
	}
	return f.idle
}

// observed describes one client's requests for an observer.
type observed struct {
	history            *history
	client, connection int32
	ended              []Ended // of the last request
}

// newObserved returns nil for a step without an observer.
func newObserved(s *step, client, connection int) *observed {
	if s.rec.history == nil {
		return nil
	}
	number := func(n int) int32 { return int32(s.spec.Part.Number(int64(n))) }
	return &observed{history: s.rec.history, client: number(client), connection: number(connection), ended: make([]Ended, 0, 1)}
}

// await waits until the observer is not too far behind.
func (o *observed) await(c *client) {
	if !o.history.full.Load() {
		return
	}
	room := o.history.wanted()
	if room == nil {
		return
	}
	c.fiber.Leave()
	from := o.history.clock.Now()
	<-room
	o.history.addWait(o.history.clock.Now() - from)
}

// readClock reads the clock for the request that the client sends next. Meanwhile the flight shows
// that the client may have read the clock.
func (o *observed) readClock(c *client) int64 {
	c.flight.word.Store(flightSending)
	sent := c.now()
	if o.history.descheduled != nil {
		o.history.descheduled()
	}
	return sent
}

// see describes the last ended request for the observer. The result is valid until the next
// call.
func (o *observed) see(a *applier, req requests.Request, d *done) []Ended {
	o.ended = append(o.ended[:0], Ended{
		Number: req.Number, Key: req.Key, Read: a.got.by.Number, ReadKnown: a.got.by.Known, Expected: -1, Version: -1, Change: -1,
		Due: o.history.unix + d.due, Sent: o.history.unix + d.sent, End: o.history.unix + d.end, Outcome: d.outcome, Missing: d.class == database.ClassNotFound,
		Client: o.client, Connection: o.connection, Member: int32(d.member), Op: uint8(d.op),
	})
	one := &o.ended[0]
	if d.outcome == workload.Failed && d.class == database.ClassWrongValue {
		one.Read, one.ReadKnown = NoRequest, true
	}
	if v := a.client.versioned; v != nil && d.outcome == workload.OK && a.client.step.work.Sends(req) {
		one.Change = v.WriteVersion()
	}
	if a.guarded == nil || !a.client.step.rec.accounts.ops[d.op].Guarded() {
		return o.ended
	}
	each := *one
	o.ended = o.ended[:0]
	for n, key := range a.guarded.keys {
		each.Key, each.Expected, each.Version = key, -1, -1
		if n < len(a.guarded.expected) {
			each.Expected = a.guarded.expected[n]
		}
		if d.outcome == workload.OK {
			each.Version = a.guarded.puts[n].Version
		}
		o.ended = append(o.ended, each)
	}
	return o.ended
}
