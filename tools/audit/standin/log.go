package standin

import (
	"slices"
	"sync"
	"time"
)

// End is how a request ended at the server.
type End string

// A request without an End had not ended when the log was read.
const (
	Answered  End = "answered"
	Refused   End = "refused"
	Abandoned End = "abandoned" // its client gave up
)

// Entry is one load request in the server log.
type Entry struct {
	Member    int
	N         int64
	Key       string
	Arrived   time.Time
	Ended     time.Time
	End       End
	Corrupted bool
	// Timeout is the request's grpc-timeout, less the way to the server; 0 without one.
	Timeout time.Duration
}

// Took is from arrival to answer.
func (e Entry) Took() time.Duration { return e.Ended.Sub(e.Arrived) }

// log holds entries in the order in which they arrived. It is safe for concurrent use.
type log struct {
	mu      sync.Mutex
	entries []*Entry
}

// arrived adds an entry and returns when the first one arrived.
func (l *log) arrived(member int, key string) (e *Entry, first time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e = &Entry{Member: member, N: int64(len(l.entries)), Key: key, Arrived: time.Now()}
	l.entries = append(l.entries, e)
	return e, l.entries[0].Arrived
}

// noted completes an entry before the request is answered.
func (l *log) noted(e *Entry, corrupted bool, timeout time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Corrupted, e.Timeout = corrupted, timeout
}

func (l *log) ended(e *Entry, how End) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Ended, e.End = time.Now(), how
}

func (l *log) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// Entries copies the log with the load requests.
func (c *Cluster) Entries() []Entry {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	var all []Entry
	for _, e := range c.log.entries {
		all = append(all, *e)
	}
	return slices.Clip(all)
}

// Loaded reports whether a load request has arrived.
func (c *Cluster) Loaded() bool {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return len(c.log.entries) > 0
}

// Keys counts the keys in the store.
func (c *Cluster) Keys() int { return c.store.len() }
