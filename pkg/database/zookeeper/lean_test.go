package zookeeper

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/wire/fiber/fibertest"
	"github.com/coreos/dbtester/pkg/wire/poller"
	"github.com/coreos/dbtester/pkg/workload"
)

func openLeanTo(t testing.TB, target database.Target) *lean {
	t.Helper()
	l, err := openLean(t.Context(), target, 4096)
	if err != nil {
		t.Fatalf("open a lean session: %v", err)
	}
	t.Cleanup(l.close)
	return l
}

// way runs a step in a test: as a goroutine, as a fiber, or in turn.
type way func(ctx context.Context, run func(ctx context.Context))

// eachWay runs a test in each way.
func eachWay(t *testing.T, test func(t *testing.T, do way)) {
	goroutine := func(ctx context.Context, run func(ctx context.Context)) { run(ctx) }
	var turn atomic.Int64
	for name, do := range map[string]way{
		"goroutine": goroutine, "fiber": fibertest.Do,
		"in turn": func(ctx context.Context, run func(ctx context.Context)) {
			if turn.Add(1)%2 == 0 {
				goroutine(ctx, run)
			} else {
				fibertest.Do(ctx, run)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, do) })
	}
}

// set sends one request.
func (w way) set(ctx context.Context, l *lean) (err error) {
	w(ctx, func(ctx context.Context) { err = trySet(ctx, l) })
	return err
}

// mustClass fails the test unless err has a class and an outcome.
func mustClass(t testing.TB, err error, wantClass database.Class, want workload.Outcome) {
	t.Helper()
	if outcome, class := database.Classify(err); outcome != want || class != wantClass {
		t.Errorf("outcome %v, class %q; want %v, %q: %v", outcome, class, want, wantClass, err)
	}
}

// late is a context whose timer does not run when its deadline passes, as on a busy machine.
type late struct {
	context.Context
	deadline time.Time
}

func (l late) Deadline() (time.Time, bool) { return l.deadline, true }

// full returns the address of a server that accepts no more connections.
func full(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatalf("make a socket: %v", err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatalf("listen: %v", err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatalf("read the address: %v", err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", bound.(*unix.SockaddrInet4).Port)
	for {
		conn, err := net.DialTimeout("tcp", addr, time.Second/2)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

// A connection that ends because the deadline of its request has passed is a time-out, also before
// the timer of the context runs.
func TestLeanLateTimer(t *testing.T) {
	target := script{func(c *talk) { c.welcome(1); _, _ = io.Copy(io.Discard, c) }}.serve(t)
	l := openLeanTo(t, target)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := trySet(ctx, l); err == nil {
		t.Fatal("a server that hangs answers")
	}
	l.endpoints = []string{full(t)}
	mustClass(t, trySet(late{t.Context(), time.Now().Add(50 * time.Millisecond)}, l), database.ClassTimeout, workload.Failed)
}

// With a server that hangs, requests time out and the next one opens a new session.
// Closing then waits for no call.
func TestLeanHungServer(t *testing.T) { eachWay(t, testLeanHungServer) }

func testLeanHungServer(t *testing.T, do way) {
	var sessions atomic.Uint64
	target := script{func(c *talk) { c.welcome(sessions.Add(1)); _, _ = io.Copy(io.Discard, c) }}.serve(t)
	before := goleak.IgnoreCurrent()
	l := openLeanTo(t, target)
	try := func(times time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), times*5*time.Millisecond)
		defer cancel()
		return do.set(ctx, l)
	}
	mustClass(t, databasetest.Sent(try), database.ClassTimeout, workload.Unknown)
	for i := 0; sessions.Load() < 3; i++ {
		outcome, class := database.Classify(try(1 + time.Duration(i/10))) // a busy machine needs time to open one
		if class != database.ClassTimeout || outcome == workload.OK {
			t.Fatalf("request %d: outcome %v, class %q", i, outcome, class)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := databasetest.Sent(func(times time.Duration) error {
		ctx, cancel = context.WithCancel(t.Context())
		defer time.AfterFunc(times*20*time.Millisecond, cancel).Stop()
		return do.set(ctx, l)
	})
	mustClass(t, err, database.ClassCancelled, workload.Unknown)
	mustClass(t, do.set(ctx, l), database.ClassCancelled, workload.Failed)
	for attempt := 1; ; attempt++ {
		start := time.Now()
		l.close()
		if took := time.Since(start); took < time.Second/2 {
			break
		} else if attempt == 10 { // and not because this machine is busy
			t.Errorf("close took %v with a server that hangs", took)
			break
		}
		l = openLeanTo(t, target)
		mustClass(t, databasetest.Sent(try), database.ClassTimeout, workload.Unknown)
	}
	mustClass(t, do.set(t.Context(), l), database.ClassUnavailable, workload.Failed)
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction(poller.Forever))
}

// close waits a second for a server that hangs.
func TestLeanCloseOfHungServer(t *testing.T) {
	target := script{func(c *talk) { c.welcome(1); _, _ = io.Copy(io.Discard, c) }}.serve(t)
	l := openLeanTo(t, target)
	start := time.Now()
	l.close()
	if took := time.Since(start); took < time.Second/2 {
		t.Errorf("close took %v with a server that hangs", took)
	}
}

// An expired session, however reported, is replaced for the same client, and unsent
// requests go to the next one.
func TestLeanExpiredSession(t *testing.T) { eachWay(t, testLeanExpiredSession) }

func testLeanExpiredSession(t *testing.T, do way) {
	const expired = -112
	var sent atomic.Int64
	cut := make(chan struct{})
	target := script{
		func(c *talk) { c.welcome(1); c.refuse(c.read(), expired) },
		func(c *talk) { c.welcome(0) },
		func(c *talk) { c.welcome(3); _ = c.Close(); close(cut) }, // while it is idle
		func(c *talk) { c.welcome(4); c.read() },
		func(c *talk) { c.welcome(5); sent.Add(1); c.answer() },
	}.serve(t)
	l := openLeanTo(t, target)
	mustClass(t, do.set(t.Context(), l), database.ClassUnavailable, workload.Failed)
	mustClass(t, do.set(t.Context(), l), database.ClassUnavailable, workload.Failed) // no server answers its handshake
	if err := l.ensureSession(t.Context()); err != nil {                             // the third
		t.Fatalf("open another session: %v", err)
	}
	l.conn.End(true)
	<-cut
	time.Sleep(30 * time.Millisecond) // the connection looks only after it was idle for a while
	mustClass(t, do.set(t.Context(), l), database.ClassConnection, workload.Unknown)
	mustClass(t, do.set(t.Context(), l), database.ClassNotFound, workload.Failed)
	if sent.Load() != 1 {
		t.Errorf("%d sessions were opened for the last request, want 1", sent.Load())
	}
}

// A server that only closes connections is tried three times, a missing one once. The
// error says so, and nothing was sent.
func TestLeanNoSession(t *testing.T) {
	slowtest.Skip(t)
	for name, act := range map[string]func(*talk){
		"silent":    func(c *talk) { _, _ = io.Copy(io.Discard, c) },
		"cuts":      func(c *talk) { c.read() },
		"another":   func(c *talk) { c.read(); _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") },
		"no answer": func(c *talk) { c.read(); c.write([]byte{1, 2, 3}) },
		"no time":   func(c *talk) { c.read(); c.write(append(make([]byte, 15), 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int64
			target := script{func(c *talk) { conns.Add(1); act(c) }}.serve(t)
			before := goleak.IgnoreCurrent()
			within := databasetest.Patience
			if name == "silent" { // until then
				within = 2 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			l, err := openLean(ctx, target, 4096)
			if err == nil {
				l.close()
				t.Error("a session is open with a server that confirmed none")
			}
			if want := map[bool]int64{true: maxTries, false: 1}[name == "cuts"]; conns.Load() != want {
				t.Errorf("%d connections, want %d: %v", conns.Load(), want, err)
			}
			goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction(poller.Forever))
		})
	}
}

// A client moves from a dead member to a live one.
func TestLeanEndpoints(t *testing.T) { eachWay(t, testLeanEndpoints) }

func testLeanEndpoints(t *testing.T, do way) {
	target := script{func(c *talk) { c.welcome(1); c.answer() }}.serve(t)
	target.Endpoints = append(target.Endpoints, "127.0.7.11:1", "127.0.7.11:2")
	target.Prefer = -1
	for range 10 {
		mustClass(t, do.set(t.Context(), openLeanTo(t, target)), database.ClassNotFound, workload.Failed)
	}
}

// Every session sends the credentials before anything else.
func TestLeanCredentials(t *testing.T) { eachWay(t, testLeanCredentials) }

func testLeanCredentials(t *testing.T, do way) {
	packets, closed := make(chan []byte, 10), make(chan struct{}, 10)
	target := script{func(c *talk) {
		c.welcome(1)
		for range 2 {
			packet := c.read()
			packets <- packet
			c.refuse(packet, 0)
		}
		_ = c.Close()
		closed <- struct{}{}
	}}.serve(t)
	target.Auth = &database.Auth{User: "bench", Password: "hunter2"}
	l := openLeanTo(t, target)
	for range 2 {
		_ = do.set(t.Context(), l)
		shown := <-packets
		if xid := int32(binary.BigEndian.Uint32(shown)); xid != xidAuth || !bytes.HasSuffix(shown, []byte("bench:hunter2")) {
			t.Errorf("%d: %q", xid, shown)
		}
		<-packets
		<-closed
		time.Sleep(30 * time.Millisecond) // the connection looks only after it was idle for a while
	}
}

// briefly confirms a session for a short time, so that its pings come soon.
func (c *talk) briefly(milliseconds uint32) {
	c.read()
	answer := binary.BigEndian.AppendUint32(make([]byte, 4), milliseconds)
	answer = binary.BigEndian.AppendUint64(answer, 1)
	c.write(binary.BigEndian.AppendUint32(answer, 0))
}

// Pings keep a session while it is idle and while an answer takes long, and no request
// takes their answers. On a busy machine the session must be longer.
func TestLeanPings(t *testing.T) { eachWay(t, testLeanPings) }

func testLeanPings(t *testing.T, do way) {
	for milliseconds := uint32(60); ; milliseconds *= 5 {
		conns, err := pingedSession(t, do, milliseconds)
		if conns == 1 && err == nil {
			return
		}
		if milliseconds > 10_000 {
			t.Fatalf("a session kept by pings used %d connections, want 1; the error is %v", conns, err)
		}
	}
}

// pingedSession keeps a session by pings, and returns the number of connections it took, and the
// error of a request.
func pingedSession(t *testing.T, do way, milliseconds uint32) (connections int64, err error) {
	var pings, conns atomic.Int64
	target := script{func(c *talk) {
		conns.Add(1)
		c.briefly(milliseconds)
		var waits []byte
		for packet := c.read(); packet != nil; packet = c.read() {
			if xid := int32(binary.BigEndian.Uint32(packet)); xid != xidPing {
				waits = packet
				continue
			}
			pings.Add(1)
			c.refuse(packet, 0)
			if waits != nil {
				c.refuse([]byte{0xff, 0xff, 0xff, 0xff}, 0) // a notice
				c.refuse(waits, noNode)
				waits = nil
			}
		}
	}}.serve(t)
	l := openLeanTo(t, target)
	for want := int64(2); want < 10; want += 2 {
		for end := time.Now().Add(100 * time.Duration(milliseconds) * time.Millisecond); pings.Load() < want && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // while it is idle
		}
		one := do.set(t.Context(), l)
		if _, class := database.Classify(one); class != database.ClassNotFound {
			err = one
		}
	}
	return conns.Load(), err
}

// A client leaves a server that answers no ping before the next request, which that
// server never gets.
func TestLeanNoPong(t *testing.T) { eachWay(t, testLeanNoPong) }

func testLeanNoPong(t *testing.T, do way) {
	left := make(chan struct{})
	target := script{
		func(c *talk) {
			c.briefly(60)
			for packet := c.read(); packet != nil; packet = c.read() {
				if xid := int32(binary.BigEndian.Uint32(packet)); xid != xidPing {
					t.Errorf("a server that answers no ping got request %d", xid)
				}
			}
			close(left)
		},
		func(c *talk) { c.welcome(2); c.answer() },
	}.serve(t)
	l := openLeanTo(t, target)
	<-left
	mustClass(t, do.set(t.Context(), l), database.ClassNotFound, workload.Failed)
}

// An invalid answer costs the connection, and it is unknown whether the request was
// applied.
func TestLeanMalformed(t *testing.T) { eachWay(t, testLeanMalformed) }

func testLeanMalformed(t *testing.T, do way) {
	long := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	for name, answer := range map[string][]byte{
		"short":       append(long(8), make([]byte, 40)...),
		"long":        append(long(1<<20), make([]byte, 40)...),
		"negative":    append(long(1<<31), make([]byte, 40)...),
		"another":     append(long(16), make([]byte, 16)...),
		"half":        append(long(16), make([]byte, 3)...),
		"half a stat": append(append(long(40), 0, 0, 0, 1), make([]byte, 36)...),
		"a value too long": append(append(append(long(headerSize+lengthField+statSize), 0, 0, 0, 1), make([]byte, 12)...),
			append(long(1000), make([]byte, statSize)...)...),
	} {
		t.Run(name, func(t *testing.T) {
			target := script{
				func(c *talk) { c.welcome(1); c.read(); _, _ = c.Write(answer) },
				func(c *talk) { c.welcome(2); c.answer() },
			}.serve(t)
			l := openLeanTo(t, target)
			var err error
			do(t.Context(), func(ctx context.Context) { _, _, err = l.get(ctx, nil, []byte("/k")) })
			mustClass(t, err, database.ClassConnection, workload.Unknown)
			mustClass(t, do.set(t.Context(), l), database.ClassNotFound, workload.Failed)
		})
	}
}

// A stopped keepalive does not call beat, and one that was ended can't be started.
func TestKeepalive(t *testing.T) {
	before := goleak.IgnoreCurrent()
	var beats atomic.Int64
	p := keepalive{beat: func() bool { beats.Add(1); return true }}
	p.stop()
	for range 50 {
		p.start(time.Microsecond)
		for beats.Load() == 0 {
			time.Sleep(time.Microsecond)
		}
		p.stop()
		beats.Store(0)
		time.Sleep(100 * time.Microsecond)
		if beats.Load() != 0 {
			t.Error("the keepalive runs after stop")
		}
	}
	p.end()
	p.start(time.Microsecond)
	time.Sleep(time.Millisecond)
	if beats.Load() != 0 {
		t.Error("the keepalive runs after end")
	}
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction(poller.Forever))
}
