// Package runlog copies the log messages of a process during a run into the log of that run.
package runlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// maxHeld limits the text, in bytes, that is buffered before a run has a log file.
const maxHeld = 1 << 20

// Handler passes records to another handler. During a run it also writes records at level info and
// above to the run log, as text, regardless of the other handler's level. It is safe for concurrent
// use.
type Handler struct {
	next slog.Handler
	text slog.Handler // writes to run
	run  *run         // shared by handlers with different attributes
}

var _ slog.Handler = (*Handler)(nil)

// run is the log of the current run.
type run struct {
	mu   sync.Mutex
	on   bool
	held bytes.Buffer // messages logged before the file existed
	lost int          // bytes that did not fit into held
	file io.WriteCloser
	err  error // the file's first error
}

// New returns a handler outside any run.
func New(next slog.Handler) *Handler {
	r := &run{}
	return &Handler{next: next, text: slog.NewTextHandler(r, nil), run: r}
}

// Wrap returns the log's handler if it was made by [New]. Otherwise it wraps the log's handler, and
// returns the new log.
func Wrap(log *slog.Logger) (*slog.Logger, *Handler) {
	if h, ok := log.Handler().(*Handler); ok {
		return log, h
	}
	h := New(log.Handler())
	return slog.New(h), h
}

// Begin begins a run. Messages are buffered until [Handler.To] sets the file. The previous run must
// have ended.
func (h *Handler) Begin() {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	h.run.on, h.run.err, h.run.lost = true, nil, 0
	h.run.held.Reset()
}

// To sets the file for the run, which [Handler.End] closes. Call it once per run.
func (h *Handler) To(file io.WriteCloser) {
	r := h.run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file = file
	r.write(r.held.Bytes())
	if r.lost > 0 {
		r.write(fmt.Appendf(nil, "[dbtester: %d bytes of this log were cut here]\n", r.lost))
	}
	r.held = bytes.Buffer{}
}

// Err returns the first error from the file.
func (h *Handler) Err() error {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	return h.run.err
}

// End ends the run and closes its file. It does nothing outside a run.
func (h *Handler) End() error {
	r := h.run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = false
	r.held = bytes.Buffer{}
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// Write takes the text of one record.
func (r *run) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.on:
	case r.file != nil:
		r.write(text)
	case r.lost > 0 || r.held.Len()+len(text) > maxHeld:
		r.lost += len(text)
	default:
		r.held.Write(text)
	}
	return len(text), nil
}

// write writes to the file and keeps its first error. mu is held.
func (r *run) write(text []byte) {
	if _, err := r.file.Write(text); err != nil && r.err == nil {
		r.err = err
	}
}

// Enabled reports whether records at a level are written anywhere.
func (h *Handler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.next.Enabled(ctx, l) || h.text.Enabled(ctx, l)
}

// Handle passes a record on. The error is that of the other handler.
func (h *Handler) Handle(ctx context.Context, r slog.Record) (err error) {
	if h.next.Enabled(ctx, r.Level) {
		err = h.next.Handle(ctx, r.Clone())
	}
	if h.text.Enabled(ctx, r.Level) {
		err = errors.Join(err, h.text.Handle(ctx, r))
	}
	return err
}

// WithAttrs returns a handler that adds attributes.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{h.next.WithAttrs(attrs), h.text.WithAttrs(attrs), h.run}
}

// WithGroup returns a handler that qualifies attributes.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.next.WithGroup(name), h.text.WithGroup(name), h.run}
}
