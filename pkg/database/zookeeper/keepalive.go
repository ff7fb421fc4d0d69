package zookeeper

import (
	"sync"
	"time"
)

// keepalive calls beat at an interval until beat returns false. The zero keepalive
// is stopped.
type keepalive struct {
	beat func() (again bool)

	mu       sync.Mutex
	timer    *time.Timer
	interval time.Duration
	stopped  bool
	ended    bool // start no longer has an effect
	beating  sync.WaitGroup
}

// start starts a stopped keepalive, unless it was ended.
func (k *keepalive) start(interval time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return
	}
	k.interval, k.stopped = interval, false
	k.schedule()
}

// schedule arms the timer. k is locked.
func (k *keepalive) schedule() {
	k.beating.Add(1)
	if k.timer == nil {
		k.timer = time.AfterFunc(k.interval, k.fire)
		return
	}
	k.timer.Reset(k.interval)
}

func (k *keepalive) fire() {
	defer k.beating.Done()
	again := k.beat()
	k.mu.Lock()
	defer k.mu.Unlock()
	if again && !k.stopped {
		k.schedule()
	}
}

// stop stops the keepalive, and returns when beat is not running.
func (k *keepalive) stop() {
	k.mu.Lock()
	k.stopped = true
	if k.timer != nil && k.timer.Stop() {
		k.beating.Done()
	}
	k.mu.Unlock()
	k.beating.Wait()
}

// end stops it for good.
func (k *keepalive) end() {
	k.mu.Lock()
	k.ended = true
	k.mu.Unlock()
	k.stop()
}
