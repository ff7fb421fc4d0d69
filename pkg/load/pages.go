package load

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/coreos/dbtester/pkg/workload"
)

// Ended is one request that was sent and has ended, as an [Observer] sees it. A transaction with
// several keys is one Ended for each key. Times are unix nanoseconds by the recorder clock, which
// wall clock steps do not move.
type Ended struct {
	// Number is the number of the request, also held by the value that it writes. Numbers for keys
	// written before the load are negative: see [Preload].
	Number int64
	// Key is the key number, 0 in a load with one key; for a range, the first key's.
	Key int64
	// Read is the number of the request that wrote the value read, if ReadKnown: the value was
	// right, and long enough to hold a number. It is NoRequest if the value was wrong.
	Read int64
	// Expected is the key version that a transaction named, Version the one it made. They are -1
	// if not known.
	Expected, Version int64
	// Change is the version made by a write, counted over all keys, if the client is a
	// [database.WriteVersioner]; -1 if it is not known.
	Change int64
	// Due is when the request was due; in a closed loop it is Sent.
	Due, Sent, End int64
	// Client and Connection are numbered over all parts of a load. Member is the member to which
	// the request went, -1 if not known.
	Client, Connection, Member int32
	Op                         uint8 // index in [Spec.Operations]
	Outcome                    workload.Outcome
	ReadKnown                  bool
	Missing                    bool // it failed because the key does not exist
}

// NoRequest, in [Ended.Read], stands for a value that no request wrote to its key.
const NoRequest = math.MinInt64

const (
	pageSize = 1024 // requests, 88 KiB
	// mostPages is how many request pages may wait for the observer before clients do: 44 MiB.
	mostPages = 512
	// soonPages, in addition to the pages being filled by shards, trigger a call to the observer at
	// once, while a processor still has them in its cache. Each call looks at every client, so the
	// number grows by one page for every clientsPerPage clients.
	soonPages, clientsPerPage = 8, 256
)

// Waits counts client waits and adds up their time.
type Waits struct {
	Count int64
	NS    int64
}

// pagePool lends pages to the shards, as many as may wait for an observer.
type pagePool struct {
	hurry chan struct{} // asks the flusher to deliver at once
	full  atomic.Bool   // all pages are in use

	mu    sync.Mutex
	most  int // pages
	soon  int // pages
	free  [][]Ended
	used  int
	room  chan struct{} // closed when there is room again; nil while no client waits
	waits Waits
}

// begin prepares for a step with that many clients and shards.
func (p *pagePool) begin(clients, shards int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.soon = min(soonPages+clients/clientsPerPage+shards, p.most/2)
}

// page returns an empty page.
func (p *pagePool) page() []Ended {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used++
	p.full.Store(p.used >= p.most)
	if p.used >= p.soon {
		select {
		case p.hurry <- struct{}{}:
		default: // already asked
		}
	}
	if n := len(p.free); n > 0 {
		page := p.free[n-1]
		p.free = p.free[:n-1]
		return page
	}
	return make([]Ended, 0, pageSize)
}

// giveBack frees the delivered pages, and lets clients that waited for pages continue.
func (p *pagePool) giveBack(pages [][]Ended) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, page := range pages {
		p.free = append(p.free, page[:0])
	}
	p.used -= len(pages)
	p.full.Store(p.used >= p.most)
	if p.room != nil && p.used < p.most {
		close(p.room)
		p.room = nil
	}
}

// wanted returns a channel, closed when there is room, nil if there is room now.
func (p *pagePool) wanted() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used < p.most {
		return nil
	}
	if p.room == nil {
		p.room = make(chan struct{})
	}
	return p.room
}

func (p *pagePool) addWait(ns int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits.Count++
	p.waits.NS += ns
}

// takeWaits returns the waits since the last call.
func (p *pagePool) takeWaits() (w Waits) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, p.waits = p.waits, w
	return w
}

// pages are a shard's requests not yet seen by its observer. All but the last are full.
type pages struct {
	pool *pagePool // nil without an observer
	all  [][]Ended
}

// add appends requests. The shard is locked.
func (p *pages) add(ended []Ended) {
	for i := range ended {
		last := len(p.all) - 1
		if last < 0 || len(p.all[last]) == cap(p.all[last]) {
			p.all = append(p.all, p.pool.page())
			last++
		}
		p.all[last] = append(p.all[last], ended[i])
	}
}
