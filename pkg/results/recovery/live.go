package recovery

import (
	"context"
	"sync"
	"time"
)

// Second is a second of a load that has just ended.
type Second struct {
	Start time.Time
	// OK are the requests that ended ok in it, and Bad those that failed or whose outcome is
	// unknown. Due fell due in it, and Pending were due or sent and had no outcome at its end;
	// loads without a rate have neither: 0.
	OK, Bad, Due, Pending int64
}

// Live follows a load while it runs, in whole seconds: enough to wait for a recovery, whose time
// the records tell afterwards. It is safe for concurrent use.
type Live struct {
	mu      sync.Mutex
	seconds []Second      // the last of them
	more    chan struct{} // closed when another one has come
}

// Level is what a load is compared with: the ok requests of a second, and the most that were
// pending.
type Level struct {
	OK      float64
	Pending int64
}

// NewLive returns one that has seen nothing.
func NewLive() *Live { return &Live{more: make(chan struct{})} }

const (
	// kept is how many seconds are kept: those of a level, and some that come late.
	kept = int(2 * before / time.Second)
	// calm is how many seconds must be as before: more than [Timeline.Of] asks for, which looks at
	// ticks and must find them before the next disturbance begins.
	calm = 2 * int(steadyFor/time.Second)
)

// See takes a second.
func (l *Live) See(s Second) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seconds = append(l.seconds, s); len(l.seconds) > kept {
		l.seconds = l.seconds[1:]
	}
	close(l.more)
	l.more = make(chan struct{})
}

// Level is that of the last seconds that have come and began after a time.
func (l *Live) Level(since time.Time) (v Level) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.seconds[max(len(l.seconds)-int(before/time.Second), 0):]
	for len(last) > 0 && last[0].Start.Before(since) {
		last = last[1:]
	}
	var ok, due int64
	for _, s := range last {
		ok, due, v.Pending = ok+s.OK, due+s.Due, max(v.Pending, s.Pending)
	}
	if due > 0 { // as in [Recovery]
		ok = min(ok, due)
	}
	if len(last) > 0 {
		v.OK = float64(ok) / float64(len(last))
	}
	return v
}

// Await waits until the last four seconds began after a time and were all as before. It returns
// false if ctx ended first.
func (l *Live) Await(ctx context.Context, over time.Time, v Level) bool {
	for {
		l.mu.Lock()
		is, more := l.recovered(over, v), l.more
		l.mu.Unlock()
		if is {
			return true
		}
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
}

func (l *Live) recovered(over time.Time, v Level) bool {
	if len(l.seconds) < calm {
		return false
	}
	for _, s := range l.seconds[len(l.seconds)-calm:] {
		if s.Start.Before(over) || s.Bad > 0 || s.OK == 0 || float64(s.OK) < share*v.OK || s.Pending > v.Pending {
			return false
		}
	}
	return true
}
