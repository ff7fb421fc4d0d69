package selfcheck

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/wholefile"
)

// ServeMirror runs a database mirror until ctx ends, then writes a log with the requests that it
// delayed. [CheckLoad] appends its arguments to the server command line.
func ServeMirror(ctx context.Context, registry *database.Registry, args []string) error {
	flags := flag.NewFlagSet("selfcheck mirror", flag.ContinueOnError)
	name := flags.String("database", "", "name of the database")
	delay := flags.Duration("delay", 0, "delay of every answer")
	address := flags.String("address", "", "file to write the address to")
	log := flags.String("log", "", "file to write the log to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	db, err := registry.Get(*name)
	if err != nil {
		return err
	}
	mirror, ok := db.New().(database.Mirror)
	if !ok {
		return fmt.Errorf("%s has no loopback server", db.Name)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if err := wholefile.Write(*address, wholefile.Bytes([]byte(listener.Addr().String()))); err != nil {
		return errors.Join(fmt.Errorf("write the address: %w", err), listener.Close())
	}
	h := &holder{delay: *delay, base: time.Now()}
	if err := mirror.ServeMirror(ctx, listener, h.hold); err != nil {
		return err
	}
	return errors.Join(h.err, writeLog(*log, h.entries))
}

// holder delays requests and logs the real delays. It is safe for concurrent use.
type holder struct {
	delay  time.Duration
	base   time.Time // its clock's zero
	timers sync.Pool // of *timer, one for each held request

	mu      sync.Mutex
	entries []entry // in the order they ended
	err     error   // the first
}

// hold returns after the delay.
func (h *holder) hold() {
	received := time.Since(h.base)
	err := h.sleep()
	replied := time.Since(h.base)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, entry{int64(len(h.entries)), int64(received), int64(replied)})
	if h.err == nil {
		h.err = err
	}
}

// sleep sleeps on a timerfd, which is closed when the pool drops it.
func (h *holder) sleep() error {
	if h.delay <= 0 {
		return nil
	}
	t, ok := h.timers.Get().(*timer)
	if !ok {
		var err error
		if t, err = newTimer(); err != nil {
			return err
		}
	}
	defer h.timers.Put(t)
	return t.sleep(h.delay)
}
