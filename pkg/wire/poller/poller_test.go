package poller

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// collector is a reader that keeps the bytes that arrive.
type collector struct {
	mu    sync.Mutex
	room  []byte
	all   []byte
	calls int
	runs  atomic.Bool // Received is running
	stop  error
	lost  chan error
}

func newCollector(room int) *collector {
	return &collector{room: make([]byte, room), lost: make(chan error, 2)}
}

func (c *collector) Room() []byte { return c.room }

func (c *collector) Received(n int) error {
	if !c.runs.CompareAndSwap(false, true) {
		return errors.New("two goroutines at a time")
	}
	defer c.runs.Store(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.all = append(c.all, c.room[:n]...)
	return c.stop
}

func (c *collector) Lost(err error) { c.lost <- err }

func (c *collector) received() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.all)
}

// patience is the time that anything may take on a busy machine: only a hang takes longer.
const patience = 2 * time.Minute

// wait returns when n bytes have arrived.
func (c *collector) wait(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(c.received()) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes have arrived, want %d", len(c.received()), n)
		}
	}
}

// end returns the error with which Lost was called.
func (c *collector) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-c.lost:
		return err
	case <-time.After(patience):
		t.Fatal("Lost was not called")
		return nil
	}
}

// pair returns the two ends of a TCP connection.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// plain hides that a connection is a TCP connection.
type plain struct{ net.Conn }

// each runs a test in each way to serve connections.
func each(t *testing.T, test func(t *testing.T, serve func(net.Conn, Reader) (Conn, error))) {
	for name, serve := range ways(t) {
		t.Run(name, func(t *testing.T) { test(t, serve) })
	}
}

func open(t *testing.T, serve func(net.Conn, Reader) (Conn, error), nc net.Conn, r Reader) Conn {
	t.Helper()
	c, err := serve(nc, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	return c
}

func TestServe(t *testing.T) {
	each(t, func(t *testing.T, serve func(net.Conn, Reader) (Conn, error)) {
		client, server := pair(t)
		if _, err := server.Write([]byte("early ")); err != nil {
			t.Fatal(err)
		}
		r := newCollector(4) // less than arrives at once
		c := open(t, serve, client, r)
		r.wait(t, len("early "))
		if _, err := c.Write([]byte("question")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, len("question"))
		if _, err := io.ReadFull(server, b); err != nil || string(b) != "question" {
			t.Fatalf("the server read %q, %v", b, err)
		}
		if _, err := server.Write([]byte("answer")); err != nil {
			t.Fatal(err)
		}
		r.wait(t, len("early answer"))
		if got := string(r.received()); got != "early answer" {
			t.Errorf("received %q", got)
		}
	})
}

// The end of a connection is also seen if it arrives with the last bytes.
func TestEnd(t *testing.T) {
	each(t, func(t *testing.T, serve func(net.Conn, Reader) (Conn, error)) {
		client, server := pair(t)
		if _, err := server.Write([]byte("last words")); err != nil {
			t.Fatal(err)
		}
		server.Close()
		r := newCollector(100)
		open(t, serve, client, r)
		if err := r.end(t); !errors.Is(err, io.EOF) || string(r.received()) != "last words" {
			t.Errorf("received %q and lost %v, want last words and EOF", r.received(), err)
		}
	})
}

func TestEndLater(t *testing.T) {
	each(t, func(t *testing.T, serve func(net.Conn, Reader) (Conn, error)) {
		client, server := pair(t)
		r := newCollector(100)
		c := open(t, serve, client, r)
		if _, err := server.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		r.wait(t, 1)
		_ = server.(*net.TCPConn).SetLinger(0) // so that it is reset
		server.Close()
		if err := r.end(t); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("lost %v, want that it was reset", err)
		}
		if _, err := c.Write(make([]byte, 1<<20)); err == nil {
			t.Error("a lost connection is written to")
		}
	})
}

// An error from the reader ends reading, with all that has arrived not yet read.
func TestReaderFails(t *testing.T) {
	each(t, func(t *testing.T, serve func(net.Conn, Reader) (Conn, error)) {
		client, server := pair(t)
		if _, err := server.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		r := newCollector(10)
		r.stop = errors.New("not this protocol")
		open(t, serve, client, r)
		if err := r.end(t); !errors.Is(err, r.stop) {
			t.Errorf("lost %v, want %v", err, r.stop)
		}
		if _, err := server.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		if n := len(r.received()); n > 10 {
			t.Errorf("%d bytes were received, want no more after the error", n)
		}
		if len(r.lost) > 0 {
			t.Error("Lost was called twice")
		}
	})
}

// After Close the reader is no longer called, and waiting writes fail.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, serve func(net.Conn, Reader) (Conn, error)) {
		client, server := pair(t)
		r := newCollector(10)
		c := open(t, serve, client, r)
		written := make(chan error)
		go func() {
			_, err := c.Write(make([]byte, 64<<20)) // more than the network holds
			written <- err
		}()
		time.Sleep(20 * time.Millisecond)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-written; err == nil {
			t.Error("a write that was not complete has no error")
		}
		calls := r.calls
		_, _ = server.Write([]byte("x"))
		time.Sleep(10 * time.Millisecond)
		if r.calls != calls || len(r.lost) > 0 {
			t.Errorf("%d calls of the reader after Close, lost %d times", r.calls-calls, len(r.lost))
		}
		if n, err := c.TryWrite([]byte("x")); n > 0 {
			t.Errorf("TryWrite after Close = %d, %v", n, err)
		}
	})
}

// Bytes that do not fit at once are written when the other side reads.
func TestWriteWaits(t *testing.T) {
	each(t, func(t *testing.T, serve func(net.Conn, Reader) (Conn, error)) {
		client, server := pair(t)
		c := open(t, serve, client, newCollector(10))
		want := make([]byte, 32<<20)
		_, _ = rand.Read(want)
		var got []byte
		var err error
		var reading sync.WaitGroup
		begin := make(chan struct{})
		reading.Go(func() {
			<-begin
			got = make([]byte, len(want))
			_, err = io.ReadFull(server, got)
		})
		n, bad := c.TryWrite(want)
		close(begin)
		if bad != nil || n == len(want) {
			t.Errorf("TryWrite = %d, %v, want a part", n, bad)
		}
		if rest, bad := c.Write(want[n:]); bad != nil || n+rest != len(want) {
			t.Errorf("Write = %d, %v", rest, bad)
		}
		if reading.Wait(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("the other side read something else, %v", err)
		}
	})
}

// Many concurrent connections, more than one goroutine serves in turn, each get their own bytes in
// order, while others come and go.
func TestMany(t *testing.T) {
	each(t, func(t *testing.T, serve func(net.Conn, Reader) (Conn, error)) {
		const connections, lines = 100, 200
		var all sync.WaitGroup
		for i := range connections {
			client, server := pair(t)
			line := bytes.Repeat([]byte{byte(i)}, 1+i*7)
			all.Go(func() {
				for range lines {
					_, _ = server.Write(line)
				}
				server.Close()
			})
			r := newCollector(64)
			c := open(t, serve, client, r)
			all.Go(func() {
				if i%10 == 0 {
					_ = c.Close()
					return
				}
				if err := <-r.lost; !errors.Is(err, io.EOF) {
					t.Errorf("connection %d: %v", i, err)
				}
				if want := bytes.Repeat(line, lines); !bytes.Equal(r.received(), want) {
					t.Errorf("connection %d received %d bytes, want %d of its own", i, len(r.received()), len(want))
				}
			})
		}
		all.Wait()
	})
}

// slow is a reader that takes until it is released.
type slow struct {
	*collector
	released chan struct{}
}

func (s slow) Received(n int) error {
	if n > 0 {
		<-s.released
	}
	return s.collector.Received(n)
}

// pausing is a reader that reads once, and then nothing until it is released.
type pausing struct {
	*collector
	released chan struct{}
}

func (p pausing) Pause() <-chan struct{} {
	if len(p.received()) == 0 { // it may be called before anything has arrived
		return nil
	}
	return p.released
}

// A slow reader on a connection from Apart delays no connection from Serve.
func TestApart(t *testing.T) {
	client, server := pair(t)
	r := slow{newCollector(100), make(chan struct{})}
	open(t, Apart, client, r)
	send(t, server, "long")
	client, server = pair(t)
	quick := newCollector(100)
	open(t, Serve, client, quick)
	send(t, server, "short")
	quick.wait(t, len("short"))
	if n := len(r.received()); n > 0 {
		t.Errorf("the slow reader has %d bytes", n)
	}
	close(r.released)
	r.wait(t, len("long"))
}

// A reader that pauses delays no other connection, misses nothing, and can be closed.
func TestPause(t *testing.T) {
	each(t, func(t *testing.T, serve func(net.Conn, Reader) (Conn, error)) {
		client, server := pair(t)
		r := pausing{newCollector(4), make(chan struct{})}
		open(t, serve, client, r)
		send(t, server, "first")
		r.wait(t, 4)
		client, other := pair(t)
		quick := newCollector(100)
		open(t, serve, client, quick)
		send(t, other, "short")
		quick.wait(t, len("short"))
		send(t, server, " and second")
		if got := string(r.received()); got != "firs" {
			t.Errorf("the reader that pauses has %q", got)
		}
		close(r.released)
		r.wait(t, len("first and second"))
	})
}

func send(t *testing.T, to net.Conn, text string) {
	t.Helper()
	if _, err := to.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// Connections that are no sockets have their own goroutine.
func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		r := newCollector(10)
		c, err := Serve(client, r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := string(r.received()); got != "hello" {
			t.Errorf("received %q", got)
		}
		if err := c.Close(); err != nil || len(r.lost) > 0 {
			t.Errorf("Close = %v, lost %d times", err, len(r.lost))
		}
	})
}
