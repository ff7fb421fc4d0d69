package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// logHandler returns a handler that writes text to out. The systemd journal records the time of
// each line itself and takes the priority from a prefix <N>. If out is connected to the journal, it
// gets this prefix instead of time and level. stream is the environment variable JOURNAL_STREAM, in
// which systemd names that connection as DEVICE:INODE.
func logHandler(out io.Writer, stream string) slog.Handler {
	if f, ok := out.(*os.File); ok && isJournal(f, stream) {
		return newJournalHandler(out)
	}
	return slog.NewTextHandler(out, nil)
}

// isJournal reports whether f is the stream. A program with redirected error output also
// has the variable.
func isJournal(f *os.File, stream string) bool {
	var stat unix.Stat_t
	if stream == "" || unix.Fstat(int(f.Fd()), &stat) != nil {
		return false
	}
	return stream == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// journalHandler prints records as text after their priorities.
type journalHandler struct {
	text slog.Handler // writes to line
	line *journalLine // shared by handlers with other attributes
}

// journalLine is the line for the current record.
type journalLine struct {
	mu  sync.Mutex
	buf bytes.Buffer
	out io.Writer
}

func newJournalHandler(out io.Writer) *journalHandler {
	line := &journalLine{out: out}
	return &journalHandler{line: line, text: slog.NewTextHandler(&line.buf, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	})}
}

// priority maps l to a priority as in syslog(3).
func priority(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return 3
	case l >= slog.LevelWarn:
		return 4
	case l >= slog.LevelInfo:
		return 6
	default:
		return 7
	}
}

// Enabled reports whether the handler writes records at a level.
func (h *journalHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.text.Enabled(ctx, l)
}

// Handle writes a record as one line with one call.
func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.line.mu.Lock()
	defer h.line.mu.Unlock()
	h.line.buf.Reset()
	fmt.Fprintf(&h.line.buf, "<%d>", priority(r.Level))
	if err := h.text.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.line.out.Write(h.line.buf.Bytes())
	return err
}

// WithAttrs returns a handler with additional attributes.
func (h *journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &journalHandler{h.text.WithAttrs(attrs), h.line}
}

// WithGroup returns a handler that qualifies attributes.
func (h *journalHandler) WithGroup(name string) slog.Handler {
	return &journalHandler{h.text.WithGroup(name), h.line}
}
