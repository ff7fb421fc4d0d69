package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// file is the log of a run in memory.
type file struct {
	bytes.Buffer
	closed int
}

func (f *file) Close() error { f.closed++; return nil }

// errorsOnly returns a log that passes errors to w, and its handler.
func errorsOnly(w io.Writer) (*slog.Logger, *Handler) {
	h := New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelError}))
	return slog.New(h), h
}

// The log of a run has the messages from its beginning to its end, with attributes, and the other
// handler gets its messages at any time.
func TestRun(t *testing.T) {
	t.Parallel()
	var next bytes.Buffer
	log, h := errorsOnly(&next)
	log.Error("before")
	of := log.With("run", "a1").WithGroup("member")
	h.Begin()
	of.Info("held", "n", 1)
	of.Debug("too small")
	var one file
	h.To(&one)
	of.Warn("written", "n", 2)
	log.Error("broken")
	if err := h.End(); err != nil {
		t.Fatalf("end the run: %v", err)
	}
	log.Error("after")
	h.Begin()
	log.Info("another")
	var two file
	h.To(&two)
	if err := errors.Join(h.End(), h.End()); err != nil {
		t.Fatalf("end the second run: %v", err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"first run":  {one.String(), "level=INFO msg=held run=a1 member.n=1|level=WARN msg=written run=a1 member.n=2|level=ERROR msg=broken"},
		"second run": {two.String(), "level=INFO msg=another"},
		"other log":  {next.String(), "level=ERROR msg=before|level=ERROR msg=broken|level=ERROR msg=after"},
	} {
		var lines []string
		for line := range strings.Lines(c.text) {
			_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			lines = append(lines, rest)
		}
		if got := strings.Join(lines, "|"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if one.closed != 1 || two.closed != 1 {
		t.Errorf("the files were closed %d and %d times, want once", one.closed, two.closed)
	}
}

// The buffer for a run without a file is bounded, and the cut is counted.
func TestHeldIsBounded(t *testing.T) {
	t.Parallel()
	log, h := errorsOnly(io.Discard)
	h.Begin()
	for range 1000 {
		log.Info(strings.Repeat("x", 2000))
	}
	var out file
	h.To(&out)
	log.Info("later")
	text := out.String()
	if len(text) > maxHeld+1000 || !strings.Contains(text, "bytes of this log were cut here]\n") || !strings.Contains(text, "msg=later") {
		t.Errorf("got %d bytes that end in %q, want at most %d, the cut and what came later", len(text), text[max(0, len(text)-200):], maxHeld)
	}
	h.Begin()
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	if h.run.lost != 0 || h.run.held.Len() != 0 {
		t.Error("a new run must begin with nothing held")
	}
}

// full is a disk without space.
type full struct{ file }

func (*full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A log that was not written is an error for this run only.
func TestErr(t *testing.T) {
	t.Parallel()
	log, h := errorsOnly(io.Discard)
	h.Begin()
	h.To(&full{})
	log.Info("lost")
	if err := h.Err(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v, want the error of the file", err)
	}
	h.End()
	h.Begin()
	if err := h.Err(); err != nil {
		t.Errorf("a new run has the error of the last one: %v", err)
	}
}

// Wrap takes the handler a log has, so that nothing is written twice.
func TestWrap(t *testing.T) {
	t.Parallel()
	log, h := errorsOnly(io.Discard)
	if same, got := Wrap(log); same != log || got != h {
		t.Error("a log of New must keep its handler")
	}
	plain := slog.New(slog.DiscardHandler)
	wrapped, got := Wrap(plain)
	if wrapped.Handler() != slog.Handler(got) {
		t.Error("another log must get a handler")
	}
}

// Many goroutines log while runs begin and end. The race detector judges.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	log, h := errorsOnly(io.Discard)
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for i := range 200 {
				log.With("n", n).Info(fmt.Sprint(i))
			}
		})
	}
	for range 50 {
		h.Begin()
		h.To(&file{})
		if err := errors.Join(h.Err(), h.End()); err != nil {
			t.Errorf("a run in memory failed: %v", err)
		}
	}
	wg.Wait()
}
