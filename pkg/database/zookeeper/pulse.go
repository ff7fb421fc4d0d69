package zookeeper

import (
	"sync"
	"time"
)

// pulse calls a function at an interval until it says to stop. The zero pulse is
// still.
type pulse struct {
	beat func() (again bool)

	mu       sync.Mutex
	timer    *time.Timer
	interval time.Duration
	still    bool
	over     bool // for good
	beating  sync.WaitGroup
}

// start starts a pulse that is still, unless it was ended.
func (p *pulse) start(interval time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.interval, p.still = interval, false
	p.next()
}

// next has the function called after the interval. It is locked.
func (p *pulse) next() {
	p.beating.Add(1)
	if p.timer == nil {
		p.timer = time.AfterFunc(p.interval, p.fire)
		return
	}
	p.timer.Reset(p.interval)
}

func (p *pulse) fire() {
	defer p.beating.Done()
	again := p.beat()
	p.mu.Lock()
	defer p.mu.Unlock()
	if again && !p.still {
		p.next()
	}
}

// stop returns when the function is not called any more, and does not run.
func (p *pulse) stop() {
	p.mu.Lock()
	p.still = true
	if p.timer != nil && p.timer.Stop() {
		p.beating.Done()
	}
	p.mu.Unlock()
	p.beating.Wait()
}

// end stops it for good.
func (p *pulse) end() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.stop()
}
