package database

import "sync/atomic"

// Holder is a [Watches] whose connection can be slow on purpose.
type Holder interface {
	// Hold makes the connection read nothing more from its next report until a channel is closed.
	// What the database's own clients send meanwhile to be taken for living is sent. The caller
	// closes the channel before it closes the connection.
	Hold(until <-chan struct{})
}

// Hold is until when a connection reads nothing. It is safe for concurrent use.
type Hold struct {
	until atomic.Pointer[<-chan struct{}]
}

// Set is [Holder.Hold].
func (h *Hold) Set(until <-chan struct{}) { h.until.Store(&until) }

// Wait returns when the connection may read on.
func (h *Hold) Wait() {
	if until := h.until.Load(); until != nil {
		<-*until
		h.until.CompareAndSwap(until, nil)
	}
}

// Until is closed when the connection may read on. It is nil if it may now.
func (h *Hold) Until() <-chan struct{} {
	until := h.until.Load()
	if until == nil {
		return nil
	}
	select {
	case <-*until:
		h.until.CompareAndSwap(until, nil)
		return nil
	default:
		return *until
	}
}
