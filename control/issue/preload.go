package issue

import (
	"context"
	"sync"

	"github.com/coreos/dbtester/pkg/load"
)

// Preload has each part write its share of the keys. Any goroutine may call progress, with the
// progress of all parts together. The first failed or lost part ends the preload of the others.
func (s *Set) Preload(ctx context.Context, p Preload, progress func(load.Progress)) error {
	all, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sum := &together{of: make([]load.Progress, len(s.parts)), heard: make([]bool, len(s.parts)), progress: progress}
	err := each(s.parts, func(part *part) error {
		own, end := context.WithCancelCause(all)
		defer end(nil)
		part.calls(end)
		defer part.calls(nil)
		err := part.preload(own, p, func(now load.Progress) { sum.see(part.index, now) })
		if err != nil {
			cancel(err)
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		return context.Cause(all) // the others ended because of it
	}
	return err
}

// together merges the progress of parts while they write keys. It is safe for concurrent use.
type together struct {
	progress func(load.Progress)

	mu    sync.Mutex // guards the fields below
	of    []load.Progress
	heard []bool // by part, since progress was last called
}

// see receives the progress of one part. It passes on the merged progress once all parts have
// reported, or when one reports again: requests in a second add up, and the largest p99 in any part
// represents the p99 of all.
func (t *together) see(part int, now load.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.heard[part] {
		t.pass()
	}
	t.of[part], t.heard[part] = now, true
	for _, heard := range t.heard {
		if !heard {
			return
		}
	}
	t.pass()
}

// pass passes on the merged progress. The lock is held.
func (t *together) pass() {
	var sum load.Progress
	for part, p := range t.of {
		sum.Done += p.Done
		if t.heard[part] {
			sum.Ended += p.Ended
			sum.Faulty += p.Faulty
			sum.InFlight += p.InFlight
			sum.P99 = max(sum.P99, p.P99)
		}
	}
	clear(t.heard)
	t.progress(sum)
}
