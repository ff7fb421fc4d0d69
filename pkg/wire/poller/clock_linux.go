package poller

import (
	"slices"
	"time"
)

// now returns the present moment in nanoseconds.
func (c *clock) now() int64 { return int64(time.Since(c.base)) }

// isClosed reports whether alarms are closed.
func (c *clock) isClosed(a *Alarms) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return a.closed
}

// insert adds an alarm. Clients wait in order of time, so it nearly always belongs near the end.
func (c *clock) insert(w alarm) (added, early bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.of.closed || w.of.over && w.fiber != nil {
		return false, false
	}
	if len(c.due) == cap(c.due) && 2*c.rung >= len(c.due) {
		n := copy(c.due, c.due[c.rung:])
		clear(c.due[n:])
		c.due, c.rung = c.due[:n], 0
	}
	c.due = append(c.due, w)
	i := len(c.due) - 1
	for ; i > c.rung && c.due[i-1].at > w.at; i-- {
		c.due[i] = c.due[i-1]
	}
	c.due[i] = w
	c.first.Store(c.due[c.rung].at)
	if early = w.at < c.until.Load(); early {
		c.until.Store(w.at)
	}
	return true, early
}

// take removes the alarms for which a function returns true, and sets a mark.
func (c *clock) take(whose func(*alarm) bool, mark *bool) (taken []alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*mark = true
	c.due = slices.DeleteFunc(c.due[c.rung:], func(w alarm) bool {
		if !whose(&w) {
			return false
		}
		taken = append(taken, w)
		return true
	})
	c.rung = 0
	c.first.Store(never)
	if len(c.due) > 0 {
		c.first.Store(c.due[0].at)
	}
	return taken
}

// ended appends the due alarms. It returns the nanoseconds until the next one is due, or 0 if
// alarms were due. The goroutine is assumed to sleep until then.
func (c *clock) ended(list []alarm) (due []alarm, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rung == len(c.due) {
		c.due, c.rung = c.due[:0], 0
		c.first.Store(never)
		c.until.Store(never)
		return list, never
	}
	now := c.now()
	for c.rung < len(c.due) && c.due[c.rung].at <= now {
		list = append(list, c.due[c.rung])
		c.due[c.rung] = alarm{}
		c.rung++
	}
	if len(list) > 0 {
		c.first.Store(never)
		if c.rung < len(c.due) {
			c.first.Store(c.due[c.rung].at)
		}
		return list, 0
	}
	c.until.Store(c.due[c.rung].at)
	return list, c.due[c.rung].at - now
}
