package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// script is a server that runs a function for each connection, in order; the last function serves
// all further connections. It speaks only the necessary protocol: it answers every request with "no
// such node".
type script []func(*talk)

// talk is one connection in a script.
type talk struct {
	net.Conn
	t testing.TB
}

// serve runs a script until the test ends, and returns its address.
func (s script) serve(t testing.TB) database.Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.7.11:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
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
		for i := 0; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			act := s[min(i, len(s)-1)]
			running.Go(func() {
				defer conn.Close()
				act(&talk{conn, t})
			})
		}
	})
	return database.Target{Endpoints: []string{l.Addr().String()}}
}

// read returns the next packet, nil when no more come.
func (c *talk) read() []byte {
	var length [4]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return nil
	}
	packet := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(c, packet); err != nil {
		return nil
	}
	return packet
}

func (c *talk) write(packet []byte) {
	_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...))
}

// welcome reads a connect request and confirms a session; 0 means that it expired.
func (c *talk) welcome(session uint64) {
	if c.read() == nil {
		return
	}
	answer := binary.BigEndian.AppendUint32(make([]byte, 4), 10_000) // version, timeout
	answer = binary.BigEndian.AppendUint64(answer, session)
	answer = binary.BigEndian.AppendUint32(answer, 16)
	c.write(append(answer, make([]byte, 16)...))
}

// answer answers requests until the client goes away.
func (c *talk) answer() {
	for request := c.read(); request != nil; request = c.read() {
		c.refuse(request, noNode)
	}
}

// noNode means that the node does not exist.
const noNode = -101

// refuse answers a request with an error.
func (c *talk) refuse(request []byte, code int32) {
	answer := binary.BigEndian.AppendUint64(append([]byte(nil), request[:4]...), 1)
	c.write(binary.BigEndian.AppendUint32(answer, uint32(code)))
}

func openOne(t testing.TB, target database.Target) *session {
	t.Helper()
	s, err := open(t.Context(), target, 4096)
	if err != nil {
		t.Fatalf("open a session: %v", err)
	}
	return s
}

// trySet sends one request.
func trySet(ctx context.Context, s requests) error { return s.set(ctx, []byte("/k"), nil, anyVersion) }

// With a server that hangs, requests time out, nothing accumulates, and close waits a
// second for the server.
func TestHungServer(t *testing.T) {
	target := script{func(c *talk) { c.welcome(1); _, _ = io.Copy(io.Discard, c) }}.serve(t)
	before := goleak.IgnoreCurrent()
	s := openOne(t, target)
	var running int
	for i := range 50 {
		try := func(times time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), times*2*time.Millisecond)
			defer cancel()
			return trySet(ctx, s)
		}
		// The first was sent; the others wait for its answer.
		err, want := error(nil), workload.Failed
		if i == 0 {
			err = databasetest.Sent(try)
		} else {
			err = try(1)
		}
		outcome, class := database.Classify(err)
		if i == 0 {
			want, running = workload.Unknown, runtime.NumGoroutine()
		}
		if class != database.ClassTimeout || outcome != want {
			t.Errorf("request %d: outcome %v, class %q; want %v", i, outcome, class, want)
		}
	}
	// One from the library may have come after the first request.
	if now := runtime.NumGoroutine(); now > running+2 {
		t.Errorf("%d goroutines after 50 requests, %d after the first", now, running)
	}
	s.close()
	if outcome, class := database.Classify(trySet(t.Context(), s)); outcome != workload.Failed || class != database.ClassUnavailable {
		t.Errorf("after close: outcome %v, class %q", outcome, class)
	}
	goleak.VerifyNone(t, before)
}

// A session the servers let expire is replaced by a new one, for the same client.
func TestExpiredSession(t *testing.T) {
	slowtest.Skip(t)
	target := script{
		func(c *talk) { c.welcome(1) }, // and cut
		func(c *talk) { c.welcome(0) },
		func(c *talk) { c.welcome(2); c.answer() },
	}.serve(t)
	s := openOne(t, target)
	defer s.close()
	var classes []database.Class
	for deadline := time.Now().Add(databasetest.Patience); ; {
		outcome, class := database.Classify(trySet(t.Context(), s))
		if class == database.ClassNotFound {
			break
		}
		if classes = append(classes, class); outcome == workload.OK || class == database.ClassOther || time.Now().After(deadline) {
			t.Fatalf("outcomes so far: %q", classes)
		}
	}
	if id := s.conn.SessionID(); id != 2 {
		t.Errorf("session %d, want 2", id)
	}
}

// A server that accepts connections but confirms no session counts as no server.
func TestNoSession(t *testing.T) {
	slowtest.Skip(t)
	for name, act := range map[string]func(*talk){
		"silent": func(c *talk) { _, _ = io.Copy(io.Discard, c) },
		"cuts":   func(c *talk) { c.read() },
	} {
		t.Run(name, func(t *testing.T) {
			target := script{act}.serve(t)
			before := goleak.IgnoreCurrent()
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if s, err := open(ctx, target, 4096); err == nil {
				s.close()
				t.Error("a session is open with a server that confirmed none")
			}
			goleak.VerifyNone(t, before)
		})
	}
}

// A server that announces more than the client may receive costs the connection, but no
// memory: neither in its answer to connect nor in another.
func TestAnnouncedLengths(t *testing.T) {
	announce := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	// An answer to get whose value is announced as 1 GiB, in a 100-byte packet.
	value := append(append(announce(100), 0, 0, 0, 1), make([]byte, 12)...)
	value = append(append(value, announce(1<<30)...), make([]byte, 80)...)
	session := append(append(announce(36), make([]byte, 16)...), announce(1<<30)...)
	for name, act := range map[string]func(*talk){
		"packet of 4 GiB before a session":     func(c *talk) { c.read(); _, _ = c.Write(announce(1<<32 - 1)) },
		"password of 1 GiB":                    func(c *talk) { c.read(); _, _ = c.Write(append(session, make([]byte, 16)...)) },
		"packet of 4 GiB":                      func(c *talk) { c.welcome(1); c.read(); _, _ = c.Write(announce(1<<32 - 1)) },
		"packet too short for a header":        func(c *talk) { c.welcome(1); c.read(); _, _ = c.Write(append(announce(3), 1, 2, 3)) },
		"value of 1 GiB in a packet of 100 B ": func(c *talk) { c.welcome(1); c.read(); _, _ = c.Write(value) },
	} {
		t.Run(name, func(t *testing.T) {
			target := script{act}.serve(t)
			ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
			defer cancel()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s, err := open(ctx, target, 4096)
			if err == nil {
				_, _, err = s.get(ctx, nil, []byte("/k"))
				s.close()
			}
			if outcome, _ := database.Classify(err); err == nil || outcome != workload.Unknown {
				t.Errorf("outcome %v, want %v: %v", outcome, workload.Unknown, err)
			}
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
				t.Errorf("%d MiB were allocated for an announced length", grown>>20)
			}
		})
	}
}

// A list of -1 elements is refused: go-zookeeper would make 4,294,967,295. A value of -1 bytes is
// empty.
func TestPacketLimitOfLists(t *testing.T) {
	answer := func(xid, length int32) []byte {
		body := binary.BigEndian.AppendUint32(nil, uint32(xid))
		body = append(body, make([]byte, 8+4)...)
		body = append(binary.BigEndian.AppendUint32(body, uint32(length)), make([]byte, statSize)...)
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	request := func(xid int32, op uint32) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8), uint32(xid)), op)
	}
	for _, c := range []struct {
		op     uint32
		length int32
		fine   bool
	}{{opGetData, -1, true}, {opGetData, -2, false}, {opGetChildren, -1, false}, {opGetChildren2, -1, false}, {opGetACL, -1, false}, {opGetChildren2, 3, true}} {
		p := packetLimit{max: 4096, connected: true}
		p.lists.sent(request(7, c.op))
		if err := p.check(answer(7, c.length)); (err == nil) != c.fine {
			t.Errorf("operation %d, a length of %d: %v", c.op, c.length, err)
		}
		if c.fine && len(p.lists.xids) > 0 {
			t.Errorf("operation %d: a request that was answered is kept", c.op)
		}
	}
}

// The limits hold however the stream is split, and packets within them pass.
func TestPacketLimit(t *testing.T) {
	packet := func(n int) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(n)), make([]byte, n)...) }
	stream := slices.Concat(packet(37), packet(16), packet(17), packet(4096), packet(100))
	for _, step := range []int{1, 3, 7, 20, 1000, len(stream)} {
		p := packetLimit{max: 4096}
		for part := range slices.Chunk(stream, step) {
			if err := p.check(part); err != nil {
				t.Fatalf("pieces of %d bytes: %v", step, err)
			}
		}
		if err := p.check(packet(4097)); err == nil {
			t.Errorf("pieces of %d bytes: a packet above the limit passes", step)
		}
	}
}

// A session needs a timeout: go-zookeeper panics without one.
func TestPacketLimitOfConnect(t *testing.T) {
	for timeout, fine := range map[int32]bool{1: true, 10_000: true, 0: false, -1: false, -1 << 31: false} {
		b := binary.BigEndian.AppendUint32(nil, 4+4+8+4+16)
		b = append(binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 0), uint32(timeout)), 0, 0, 0, 0, 0, 0, 0, 7)
		b = append(binary.BigEndian.AppendUint32(b, 16), make([]byte, 16)...)
		for _, cut := range []int{1, len(b)} {
			p := packetLimit{max: 4096}
			var err error
			for piece := range slices.Chunk(b, cut) {
				err = errors.Join(err, p.check(piece))
			}
			if (err == nil) != fine {
				t.Errorf("a time-out of %d ms in pieces of %d bytes: %v", timeout, cut, err)
			}
		}
	}
}
