package database

import "sync/atomic"

// Holder is a [Watches] whose connection can be slow on purpose.
type Holder interface {
	// Hold makes the connection stop reading at its next report until the channel is closed.
	// Meanwhile it sends the keepalives that clients in common use send. The caller closes the
	// channel before it closes the connection.
	Hold(until <-chan struct{})
}

// Hold pauses reads on a connection. It is safe for concurrent use.
type Hold struct {
	until atomic.Pointer[<-chan struct{}]
}

// Set implements [Holder.Hold].
func (h *Hold) Set(until <-chan struct{}) { h.until.Store(&until) }

// Wait returns when the connection may read again.
func (h *Hold) Wait() {
	if until := h.until.Load(); until != nil {
		<-*until
		h.until.CompareAndSwap(until, nil)
	}
}

// Until returns a channel that is closed when the connection may read again, nil if it may now.
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
