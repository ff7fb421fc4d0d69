package database

import (
	"context"
	"net"
	"sync"
)

// Mirror is a driver with a minimal server for the database protocol. The server does not replicate
// and stores nothing on disk. Latency beyond a known delay is therefore due to the client, the
// connection and the protocol.
type Mirror interface {
	// ServeMirror serves plaintext connections from this driver's clients on the listener until ctx
	// ends, and closes it. The driver's transport does not matter. It calls hold, from several
	// goroutines, before it answers a put or a get for an existing key, and answers when hold
	// returns. All other requests of a dial and of a load of puts and gets are answered at once.
	ServeMirror(ctx context.Context, l net.Listener, hold func()) error
}

// MirrorValues holds the keys of a [Mirror]. It is safe for concurrent use. The zero value is
// ready.
type MirrorValues struct {
	mu    sync.Mutex
	all   map[string][]byte
	bytes int
}

// mirrorBytes bounds the keys and values a mirror holds: many times the data a load reads back
// within seconds.
const mirrorBytes = 256 << 20

// Put sets a key and keeps value. Once all keys and values have 256 MiB, new keys are
// dropped.
func (m *MirrorValues) Put(key string, value []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, exists := m.all[key]
	grows := len(value) - len(old)
	if !exists {
		grows += len(key)
		if m.bytes+grows > mirrorBytes {
			return
		}
	}
	if m.all == nil {
		m.all = map[string][]byte{}
	}
	m.bytes += grows
	m.all[key] = value
}

// Get returns the value of a key, which must not be changed.
func (m *MirrorValues) Get(key string) (value []byte, exists bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, exists = m.all[key]
	return value, exists
}
