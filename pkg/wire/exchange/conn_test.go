package exchange

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/wire/fiber/fibertest"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(poller.Forever)) }

// way is a way in which tests make exchanges.
type way string

const (
	inGoroutine way = "goroutine"
	inFiber     way = "fiber"
	inTurn      way = "in turn" // a fiber and a goroutine
)

// eachWay runs a test in each way, without TLS and with it.
func eachWay(t *testing.T, test func(t *testing.T, w way, secure bool)) {
	for _, w := range []way{inGoroutine, inFiber, inTurn} {
		for name, secure := range map[string]bool{"plain": false, "tls": true} {
			t.Run(string(w)+"/"+name, func(t *testing.T) { test(t, w, secure) })
		}
	}
}

// echo is a server that answers every line with the same line. It answers "silence"
// with nothing, closes the connection after "bye", and sends another line, without a
// request, soon after "word".
type echo struct {
	addr  string
	way   way // the way in which it asks
	asked atomic.Int64
	tls   *tls.Config // its clients'
	conns atomic.Int64
	ended atomic.Int64 // of the connections
	lines atomic.Int64
	late  bool // its client reads an answer once the server has completely handled the line
	// settled has a token for each line that the server has completely handled.
	settled chan struct{}
}

func startEcho(t *testing.T, w way, secure bool) *echo {
	t.Helper()
	l, err := net.Listen("tcp", "127.108.1.1:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	e := &echo{addr: l.Addr().String(), way: w, settled: make(chan struct{}, 1<<10)}
	if secure {
		// It lends its certificate and a client that trusts it.
		web := httptest.NewTLSServer(nil)
		defer web.Close()
		e.tls = web.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		e.tls.ServerName = "example.com"
		l = tls.NewListener(l, &tls.Config{Certificates: web.TLS.Certificates})
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	running.Go(func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			e.conns.Add(1)
			running.Go(func() { e.serve(conn) })
		}
	})
	return e
}

func (e *echo) serve(conn net.Conn) {
	defer e.ended.Add(1)
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
		e.lines.Add(1)
		if line != "silence\n" {
			_, _ = io.WriteString(conn, line)
		}
		switch line {
		case "bye\n":
			_ = conn.Close()
		case "word\n":
			time.Sleep(idleCheck / 4) // so that it arrives in its own packet
			_, _ = io.WriteString(conn, "psst\n")
		}
		select {
		case e.settled <- struct{}{}:
		default: // no exchange waits
		}
	}
}

// ask makes one exchange.
func (e *echo) ask(ctx context.Context, c *Conn, text string) (err error) {
	if n := e.asked.Add(1); e.way == inFiber || e.way == inTurn && n%2 == 0 {
		fibertest.Do(ctx, func(ctx context.Context) { err = e.askOnce(ctx, c, text) })
		return err
	}
	return e.askOnce(ctx, c, text)
}

func (e *echo) askOnce(ctx context.Context, c *Conn, text string) error {
	connected, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	if !connected {
		if err := c.Connect(ctx, e.addr, e.tls); err != nil {
			c.End(false)
			return err
		}
	}
	err = c.Send([]byte(text + "\n"))
	if err == nil && e.late {
		<-e.settled
	}
	var got []byte
	if err == nil {
		got, err = c.In.Next(len(text) + 1)
	}
	if err == nil && string(got) != text+"\n" {
		err = errors.New("another answer: " + string(got))
	}
	c.End(err == nil)
	return err
}

func TestExchanges(t *testing.T) {
	eachWay(t, func(t *testing.T, w way, secure bool) {
		e := startEcho(t, w, secure)
		var c Conn
		for range 100 {
			if err := e.ask(t.Context(), &c, "hello"); err != nil {
				t.Fatalf("ask the server: %v", err)
			}
		}
		if n := e.conns.Load(); n != 1 {
			t.Errorf("100 requests used %d connections, want 1", n)
		}
		c.Close()
		var op *net.OpError
		if err := e.ask(t.Context(), &c, "hello"); !errors.Is(err, net.ErrClosed) || !errors.As(err, &op) || op.Op != "dial" {
			t.Errorf("a request after Close returns %v, want a dial error that wraps net.ErrClosed", err)
		}
		c.Close()
	})
}

// A context that ends ends its exchange and the connection, refuses the next exchange, and affects
// no exchange under another context.
func TestContexts(t *testing.T) { eachWay(t, testContexts) }

func testContexts(t *testing.T, w way, secure bool) {
	e := startEcho(t, w, secure)
	var c Conn
	defer c.Close()
	if err := e.ask(t.Context(), &c, "hello"); err != nil {
		t.Fatalf("ask the server: %v", err)
	}
	for range 3 {
		timeout := 300 * time.Millisecond
		for !e.endsByContext(t, &c, timeout) { // a busy machine needs time to ask
			if timeout *= 3; timeout > 5*time.Minute {
				t.Fatalf("the server has no request after %v", timeout/3)
			}
		}
	}
	before := e.conns.Load()
	for range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		if err := e.ask(ctx, &c, "hello"); err != nil {
			t.Fatalf("ask the server: %v", err)
		}
		cancel() // in the middle of the following exchange
	}
	if e.conns.Load() != before {
		t.Error("a context that ended after its exchange must not cost a connection")
	}
}

// endsByContext makes an exchange on an open connection, which a context ends, and more exchanges
// under that context and another one. It reports whether the first request arrived in time.
func (e *echo) endsByContext(t *testing.T, c *Conn, timeout time.Duration) (arrived bool) {
	t.Helper()
	conns, lines := e.conns.Load(), e.lines.Load()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	silence, late := e.ask(ctx, c, "silence"), e.ask(ctx, c, "late")
	cancel()
	if err := e.ask(t.Context(), c, "hello"); err != nil {
		t.Fatalf("ask the server: %v", err)
	}
	for e.ended.Load() < e.conns.Load()-1 {
		time.Sleep(time.Millisecond) // until all lines on former connections are counted
	}
	lines = e.lines.Load() - lines
	if !errors.Is(late, context.DeadlineExceeded) || lines > 2 {
		t.Errorf("an exchange that its context ends: %v; another one under it: %v; %d lines arrived, want 2", silence, late, lines)
	}
	if lines < 2 {
		return false
	}
	if !errors.Is(silence, os.ErrDeadlineExceeded) || e.conns.Load() != conns+1 {
		t.Errorf("an exchange that its context ends: %v, %d connections, want %d", silence, e.conns.Load(), conns+1)
	}
	return true
}

// A connection that the server closed, or sent unsolicited data on, is replaced
// before the next request, unless the client handles that data.
func TestIdle(t *testing.T) {
	slowtest.Skip(t)
	eachWay(t, testIdle)
}

func testIdle(t *testing.T, w way, secure bool) {
	for _, tt := range []struct {
		text  string
		takes bool
		conns int64
	}{
		{"hello", false, 1},
		{"bye", false, 3},
		{"bye", true, 3},
		{"word", false, 3},
		{"word", true, 1},
	} {
		e := startEcho(t, w, secure)
		var c Conn
		var heard bytes.Buffer
		if tt.takes {
			hear(&c, &heard)
		}
		for range 3 {
			if err := e.ask(t.Context(), &c, tt.text); err != nil {
				t.Errorf("%+v: %v", tt, err)
			}
			<-e.settled
			time.Sleep(2 * idleCheck) // the connection looks only after it was idle for that long
		}
		if e.lines.Load() != 3 || e.conns.Load() != tt.conns {
			t.Errorf("%+v: 3 requests arrived as %d on %d connections", tt, e.lines.Load(), e.conns.Load())
		}
		if tt.text == "word" && tt.takes && heard.String() != "psst\npsst\n" {
			t.Errorf("the handler of unsolicited data got %q, want the line twice", heard.String())
		}
		c.Close()
	}
}

// hear makes a connection write unsolicited data into a buffer.
func hear(c *Conn, to *bytes.Buffer) {
	c.Unsolicited = func() error {
		to.Write(c.In.Bytes())
		return c.In.Skip(len(c.In.Bytes()))
	}
}

// Unsolicited data is noticed even if it arrived before its client read the answer: package tls then
// takes both from the socket at once.
func TestIdleAfterLateRead(t *testing.T) {
	for name, secure := range map[string]bool{"plain": false, "tls": true} {
		for handler, takes := range map[string]bool{"no handler": false, "handler": true} {
			t.Run(name+"/"+handler, func(t *testing.T) { testIdleAfterLateRead(t, secure, takes) })
		}
	}
}

func testIdleAfterLateRead(t *testing.T, secure, takes bool) {
	e := startEcho(t, inGoroutine, secure)
	e.late = true
	var c Conn
	defer c.Close()
	var heard bytes.Buffer
	if takes {
		hear(&c, &heard)
	}
	for range 3 {
		if err := e.ask(t.Context(), &c, "word"); err != nil {
			t.Errorf("ask the server: %v", err)
		}
		time.Sleep(2 * idleCheck)
	}
	conns, want := int64(3), ""
	if takes {
		conns, want = 1, "psst\npsst\n"
	}
	if e.conns.Load() != conns || heard.String() != want {
		t.Errorf("3 requests used %d connections and the handler got %q, want %d and %q", e.conns.Load(), heard.String(), conns, want)
	}
}

// Keepalive runs while the connection is idle and while an answer is awaited; its
// error ends either.
func TestKeepalive(t *testing.T) {
	eachWay(t, func(t *testing.T, w way, secure bool) { tends(t, startEcho(t, w, secure)) })
}

func tends(t *testing.T, e *echo) {
	var c Conn
	defer c.Close()
	refuse := func(io.Writer, bool, time.Duration) error { return io.ErrClosedPipe }
	if c.Keepalive(refuse) {
		t.Error("Keepalive reports a connection before the first was made")
	}
	if err := e.ask(t.Context(), &c, "hello"); err != nil {
		t.Fatalf("ask the server: %v", err)
	}
	var was bool
	var idle time.Duration
	if !c.Keepalive(func(_ io.Writer, busy bool, d time.Duration) error { was, idle = busy, d; return nil }) || was || idle <= 0 {
		t.Errorf("busy is %v and idle time %v of an idle connection, want false and a positive time", was, idle)
	}
	first := c.Keepalive(refuse)
	if again := c.Keepalive(refuse); first || again {
		t.Error("the connection is kept after Keepalive's function failed")
	}
	failed := make(chan error)
	go func() { failed <- e.ask(t.Context(), &c, "silence") }()
	var err error
	for asked := false; err == nil; {
		select {
		case err = <-failed:
		case <-time.After(time.Millisecond):
			c.Keepalive(func(w io.Writer, busy bool, _ time.Duration) error {
				if asked {
					return io.ErrClosedPipe
				}
				asked = true
				_, err := io.WriteString(w, "silence\n")
				if !busy {
					t.Error("Keepalive calls its function while a request is being written")
				}
				return err
			})
		}
	}
	for end := time.Now().Add(2 * time.Minute); e.lines.Load() < 3 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // the server has yet to read the sent bytes
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) || e.lines.Load() != 3 {
		t.Errorf("an exchange whose keepalive failed returns %v after %d lines, want a deadline error after 3", err, e.lines.Load())
	}
	if err := e.ask(t.Context(), &c, "hello"); err != nil {
		t.Errorf("ask the server: %v", err)
	}
}

// Close ends the running exchange, and a second exchange at the same time is refused.
func TestCloseDuringExchange(t *testing.T) { eachWay(t, testCloseDuringExchange) }

func testCloseDuringExchange(t *testing.T, w way, secure bool) {
	e := startEcho(t, w, secure)
	var c Conn
	if err := e.ask(t.Context(), &c, "hello"); err != nil {
		t.Fatalf("ask the server: %v", err)
	}
	failed := make(chan error)
	go func() { failed <- e.ask(t.Context(), &c, "silence") }()
	for e.lines.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	if _, err := c.Begin(t.Context()); !errors.Is(err, errBusy) {
		t.Errorf("begin the exchange: %v", err)
	}
	c.Close()
	if err := <-failed; err == nil {
		t.Error("an exchange succeeds although its connection was closed")
	}
}

func TestDialRefused(t *testing.T) {
	var c Conn
	defer c.Close()
	var op *net.OpError
	if err := (&echo{addr: "127.108.1.1:1"}).ask(t.Context(), &c, "hello"); !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("error of a refused connection: %v, want a net.OpError of dial", err)
	}
}

// Input returns the bytes that were read, however they arrived.
func TestInput(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 1000)
	for how, cut := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader,
	} {
		var in Input
		in.Reset(cut(bytes.NewReader(text)))
		in.Expect(64)
		four, err := in.Next(4)
		if string(four) != "0123" || err != nil {
			t.Errorf("%s: %q, %v", how, four, err)
		}
		if err := in.Skip(5006); err != nil {
			t.Errorf("skip the bytes: %v", err)
		}
		rest, err := in.Append([]byte("x"), 4980)
		if string(rest[:4]) != "x012" || len(rest) != 4981 || err != nil {
			t.Errorf("%s: %d bytes, %.4q, %v", how, len(rest), rest, err)
		}
		if last, err := in.Next(10); string(last) != "0123456789" || err != nil || !in.Empty() {
			t.Errorf("%s: %q, %v", how, last, err)
		}
		for name, err := range map[string]error{
			"next": second(in.Next(1)), "skip": in.Skip(1), "append": second(in.Append(nil, 1<<60)),
		} {
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, %s at the end: %v", how, name, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }
