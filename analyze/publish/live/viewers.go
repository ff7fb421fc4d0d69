package live

import "sync"

// mostViewers bounds the pages that are open at the same time.
const mostViewers = 32

// viewers are the pages that are open.
type viewers struct {
	mu   sync.Mutex
	all  map[*viewer]struct{}
	over bool
	// coming are viewers that were sent to the report and have not asked for it.
	coming int
	idle   chan struct{} // closed when the run is over and nobody is on the way to the report
}

// viewer is one page. It has room for one event: a page that is slow misses seconds, and holds
// nobody up.
type viewer struct{ events chan event }

// event is a server-sent event.
type event struct {
	name string
	data []byte
}

// add returns a new viewer; nil if there are too many, or the run is over.
func (v *viewers) add() *viewer {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over || len(v.all) >= mostViewers {
		return nil
	}
	one := &viewer{make(chan event, 1)}
	if v.all == nil {
		v.all = map[*viewer]struct{}{}
	}
	v.all[one] = struct{}{}
	return one
}

// remove forgets a viewer.
func (v *viewers) remove(one *viewer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, one)
}

// any reports whether somebody looks.
func (v *viewers) any() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.all) > 0
}

// send sends an event to all, in the place of one that is still waiting to be sent.
func (v *viewers) send(e event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sendAll(e)
}

// sendAll is send with mu held, by which no other goroutine sends.
func (v *viewers) sendAll(e event) {
	for one := range v.all {
		select {
		case <-one.events:
		default:
		}
		one.events <- e
	}
}

// end sends the last event: no viewer comes after it, and no other end. If it leads to the report,
// each viewer is awaited there.
func (v *viewers) end(e event, toReport bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return
	}
	v.over = true
	v.sendAll(e)
	if toReport {
		v.coming = len(v.all)
	}
	if v.coming == 0 {
		close(v.idle)
	}
}

// came notes that the report was asked for.
func (v *viewers) came() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.coming--; v.coming == 0 {
		close(v.idle)
	}
}
