package live

import (
	"fmt"
	"sync"

	"github.com/coreos/dbtester/pkg/trust/spectators"
)

// mostViewers bounds the open pages.
const mostViewers = spectators.Most

// viewers are the open pages.
type viewers struct {
	mu   sync.Mutex
	all  map[*viewer]struct{}
	over bool
	// coming counts viewers that were sent to the report and have not requested it yet.
	coming int
	idle   chan struct{} // closed when the run is over and no viewer is still coming
}

// viewer is one page. Its buffer holds one event: a slow page misses seconds and delays no other page.
type viewer struct{ events chan event }

// event holds the bytes of a server-sent event, which are the same for every viewer.
type event []byte

// newEvent returns an event with data that has no line breaks.
func newEvent(name, data string) event {
	return append(append(beginEvent(name, 0), data...), endEvent...)
}

// beginEvent returns the beginning of an event, with room for data of that size.
func beginEvent(name string, size int) event {
	return fmt.Appendf(make(event, 0, size+len(name)+20), "event: %s\ndata: ", name)
}

// endEvent ends an event after its data.
const endEvent = "\n\n"

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

// remove removes a viewer.
func (v *viewers) remove(one *viewer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, one)
}

// any reports whether there is a viewer.
func (v *viewers) any() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.all) > 0
}

// send sends an event to all viewers. It replaces an event that is still waiting.
func (v *viewers) send(e event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sendAll(e)
}

// sendAll is send with mu held, so no other goroutine sends.
func (v *viewers) sendAll(e event) {
	for one := range v.all {
		select {
		case <-one.events:
		default:
		}
		one.events <- e
	}
}

// end sends the last event: later viewers and further calls to end are ignored. If the event leads
// to the report, each viewer is expected there.
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

// came records that a viewer requested the report.
func (v *viewers) came() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.coming--; v.coming == 0 {
		close(v.idle)
	}
}
