package selfcheck

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/wholefile"
)

// Serve runs the server until ctx ends, then writes its log. [Run] appends its arguments to the
// command line of the server.
func Serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("selfcheck serve", flag.ContinueOnError)
	law := flags.String("law", "", "the law of delays, as JSON")
	address := flags.String("address", "", "file to write the address to")
	log := flags.String("log", "", "file to write the log to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := newServer(Law{})
	if err := json.Unmarshal([]byte(*law), &s.law); err != nil {
		return fmt.Errorf("read the law of delays: %w", err)
	}
	if err := s.law.check(); err != nil {
		return fmt.Errorf("the law of delays: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if err := wholefile.Write(*address, wholefile.Bytes([]byte(listener.Addr().String()))); err != nil {
		return errors.Join(fmt.Errorf("write the address: %w", err), listener.Close())
	}
	if err := database.ServeConns(ctx, listener, func(conn net.Conn) error { return s.serveExactly(conn) }); err != nil {
		return err
	}
	return writeLog(*log, s.entries)
}

// server answers requests by a law. Request and reply are the number of the request in eight bytes.
// A connection carries one request at a time.
type server struct {
	law  Law
	base time.Time // its clock's zero

	once  sync.Once
	first int64 // when the first request was received

	mu      sync.Mutex
	entries []entry
}

func newServer(law Law) *server { return &server{law: law, base: time.Now()} }

// now returns monotonic nanoseconds since the server was made.
func (s *server) now() int64 { return int64(time.Since(s.base)) }

// serveExactly serves a connection and delays replies by its own timerfd.
func (s *server) serveExactly(conn io.ReadWriter) error {
	t, err := newTimer()
	if err != nil {
		return err
	}
	defer t.close()
	return s.serve(conn, t.sleep)
}

// serve answers the requests on one connection until it is closed. Sleep gets positive durations.
func (s *server) serve(conn io.ReadWriter, sleep func(time.Duration) error) error {
	var own []entry
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.entries = append(s.entries, own...)
	}()
	var frame [8]byte
	for {
		if _, err := io.ReadFull(conn, frame[:]); err != nil {
			return err
		}
		e := entry{number: int64(binary.BigEndian.Uint64(frame[:])), received: s.now()}
		s.once.Do(func() { s.first = e.received })
		at := s.first + int64(s.law.reply(e.number, time.Duration(e.received-s.first)))
		if d := time.Duration(at - s.now()); d > 0 {
			if err := sleep(d); err != nil {
				return err
			}
		}
		e.replied = s.now()
		own = append(own, e)
		if _, err := conn.Write(frame[:]); err != nil {
			return err
		}
	}
}
