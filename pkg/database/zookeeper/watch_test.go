package zookeeper

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// slowReceiver takes a while for the events in a read, and keeps the last version.
type slowReceiver struct{ version atomic.Int64 }

func (s *slowReceiver) Receive(_ time.Time, events []database.WatchEvent) {
	time.Sleep(100 * time.Millisecond)
	for _, e := range events {
		s.version.Store(e.Version)
	}
}

func (s *slowReceiver) Broken(error) {}

// answerTo encodes the answer to a request.
func answerTo(request []byte, zxid int64, code int32, body ...byte) []byte {
	return sealed(append(appendInt(appendLong(appendInt(packet(nil), lengthOf(request)), zxid), code), body...))
}

// eventOf encodes the event for a changed path in a transaction.
func eventOf(path string, zxid int64) []byte {
	const connected = 3
	b := appendInt(appendLong(appendInt(packet(nil), xidNotice), zxid), 0)
	return sealed(appendBytes(appendInt(appendInt(b, eventChanged), connected), path))
}

// valueAt returns the body in the answer to a read, with a value a transaction wrote.
func valueAt(zxid int64) []byte {
	b := appendLong(appendLong(appendBytes([]byte(nil), "v"), 1), zxid)
	return append(b, make([]byte, lengthField+1+statSize-len(b))...)
}

// serveEvents answers requests, and writes an event in one piece with its answer to the first
// removal, or to the first read without a watch.
func serveEvents(c *talk) {
	const zxid = 7
	c.welcome(1)
	path := ""
	for changed := int64(1); ; {
		request := c.read()
		if request == nil {
			return
		}
		var out, event []byte
		op := lengthOf(request[4:])
		if read := op == opGetData && request[len(request)-1] == 0; (read || op == opDelete) && changed < zxid {
			changed, event = zxid, eventOf(path, zxid)
		}
		switch op {
		case opAddWatch, opGetData:
			const before = 4 + 4 // number and operation
			path = string(request[before+lengthField:][:lengthOf(request[before:])])
			if out = answerTo(request, 1, 0); op == opGetData {
				out = answerTo(request, changed, 0, valueAt(changed)...)
			}
		case opSync:
			out = answerTo(request, zxid+1, 0)
		case opDelete:
			out = answerTo(request, zxid+1, noNode)
		default: // the end
			return
		}
		_, _ = c.Write(slices.Concat(event, out))
	}
}

// A barrier ends after the events before its answer were received, even if one read brought both. If
// keys are read after an event, it ends after those reads. Proxies answer reads after events, and
// removals whenever they like.
func TestBarrier(t *testing.T) {
	for _, c := range []struct {
		kind  database.WatchKind
		reads bool
	}{{kind: database.WatchPersistent}, {kind: database.WatchOneShot}, {database.WatchOneShot, true}} {
		t.Run(fmt.Sprintf("%s %v", c.kind, c.reads), func(t *testing.T) {
			to := &slowReceiver{}
			p := New().protocol()
			p.EventsBeforeReads = c.reads
			w, err := p.DialWatches(t.Context(), script{serveEvents}.serve(t), c.kind, to)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Add(t.Context(), 0, database.WatchRange{Key: []byte("key")}); err != nil {
				t.Fatal(err)
			}
			if err := w.Barrier(t.Context()); err != nil {
				t.Fatal(err)
			}
			if v := to.version.Load(); v != 7 {
				t.Errorf("version %d was received before the barrier ended, want 7", v)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// goneConn is a connection that the member has reset: TLS cannot send its last record.
type goneConn struct{ net.Conn }

func (c goneConn) Close() error {
	return errors.Join(&net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}, c.Conn.Close())
}

// TestCloseAfterMember: a session has ended without an error if the member closes the connection first.
func TestCloseAfterMember(t *testing.T) {
	t.Parallel()
	client, member := net.Pipe()
	w := &watches{conn: goneConn{client}, in: bufio.NewReader(client), timeout: time.Minute, over: make(chan struct{})}
	go w.receive()
	go func() {
		_, _ = member.Read(make([]byte, 64)) // the request to close
		_ = member.Close()
	}()
	if err := w.Close(); err != nil {
		t.Errorf("close watches: %v", err)
	}
}

// splitConn is a connection over which the rest of a packet arrives after the read deadline that was
// set before its first bytes arrived.
type splitConn struct {
	net.Conn
	pieces  [][]byte
	renewed bool // the deadline was set since the last read
}

func (c *splitConn) SetReadDeadline(time.Time) error {
	c.renewed = true
	return nil
}

func (c *splitConn) Read(b []byte) (int, error) {
	switch {
	case !c.renewed:
		return 0, os.ErrDeadlineExceeded
	case len(c.pieces) == 0:
		return 0, io.EOF
	}
	n := copy(b, c.pieces[0])
	c.pieces, c.renewed = c.pieces[1:], false
	return n, nil
}

// TestSplitEvent: the wait for a packet that has begun to arrive is not that for the next packet, which
// ends with every ping.
func TestSplitEvent(t *testing.T) {
	t.Parallel()
	const zxid = 7
	event := eventOf("/key", zxid)
	to := &slowReceiver{}
	conn := &splitConn{pieces: [][]byte{event[:lengthField+headerSize], event[lengthField+headerSize:]}}
	w := &watches{
		conn: conn, in: bufio.NewReader(conn), timeout: time.Minute, pinged: time.Now(), most: len(event), to: to,
		over: make(chan struct{}), all: &watched{path: "/"},
	}
	w.receive()
	if v := to.version.Load(); v != zxid {
		t.Errorf("version %d was received, want %d", v, zxid)
	}
}
