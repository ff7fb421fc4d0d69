package databasetest

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// liars is the number of servers that lie, each in its own way.
const liars = 12

// lieWithin bounds each call to a server that lies: it may never answer.
const lieWithin = 300 * time.Millisecond

// mostAllocated is far more bytes than the largest answer needs, for a few dozen calls.
const mostAllocated = 512 << 20

// liedPrefix is the prefix of requested keys.
const liedPrefix = "lies/below"

// liesCase: whatever a server answers, a driver returns an error or the content of the answer. It
// neither panics nor allocates the memory an answer claims to need. The answers come from a member
// and are changed on their way.
func liesCase(t *testing.T, f *fixture) {
	target := f.Target()
	member := target.Endpoints[0]
	var all sync.WaitGroup // in parallel: calls mostly wait for answers that never come
	for seed := range uint64(liars) {
		liar := lieFor(t, member, seed)
		lied := target
		lied.Endpoints, lied.Prefix = []string{liar.addr}, liedPrefix
		all.Go(func() {
			f.believe(t, lied)
			liar.end()
		})
	}
	all.Wait()
}

// believe makes every call by a driver and its client that queries a server, one after another.
func (f *fixture) believe(t *testing.T, lied database.Target) {
	t.Helper()
	for _, call := range serverCalls(f.driver) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		call.try(t, lied, lieWithin)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > mostAllocated {
			t.Errorf("%s, or a call beside it, allocated %d MiB for what a server claims", call.name, took>>20)
		}
	}
}

// liar forwards requests to a member, and changes its answers.
type liar struct {
	addr     string
	listener net.Listener
	tasks    sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
	ended    bool
}

func lieFor(t *testing.T, member string, seed uint64) *liar {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	one := &liar{addr: l.Addr().String(), listener: l}
	one.tasks.Go(func() {
		for n := uint64(0); ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			one.serve(conn, member, rand.New(rand.NewPCG(seed, n)), int(seed%6))
		}
	})
	return one
}

// serve carries one connection until either side ends it.
func (l *liar) serve(conn net.Conn, member string, random *rand.Rand, kind int) {
	to, err := net.Dial("tcp", member)
	if err != nil || !l.keep(conn, to) {
		_ = conn.Close()
		return
	}
	l.tasks.Go(func() {
		_, _ = io.Copy(to, conn)
		_ = to.Close()
	})
	l.tasks.Go(func() {
		_ = lie(conn, to, random, kind)
		_ = conn.Close()
	})
}

// keep records connections to close at the end; it returns false after the end.
func (l *liar) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		for _, c := range conns {
			_ = c.Close()
		}
		return false
	}
	l.conns = append(l.conns, conns...)
	return true
}

func (l *liar) end() {
	l.mu.Lock()
	l.ended = true
	err := l.listener.Close()
	for _, c := range l.conns {
		err = errors.Join(err, c.Close())
	}
	l.mu.Unlock()
	_ = err // both sides may have closed them
	l.tasks.Wait()
}

// lie copies with changes. Every second piece stays unchanged, so exchanges that begin well can
// continue.
func lie(to io.Writer, from io.Reader, random *rand.Rand, kind int) error {
	buffer := make([]byte, 32<<10)
	for piece := 0; ; piece++ {
		n, err := from.Read(buffer)
		data := buffer[:n]
		if n > 0 && (piece+kind)%2 == 1 {
			data = change(data, random, kind)
		}
		if _, werr := to.Write(data); werr != nil || err != nil {
			return errors.Join(err, werr)
		}
	}
}

// change changes an answer.
func change(data []byte, random *rand.Rand, kind int) []byte {
	at := random.IntN(len(data))
	switch kind {
	case 0: // a few bits
		for range 1 + random.IntN(4) {
			data[random.IntN(len(data))] ^= 1 << random.IntN(8)
		}
	case 1: // cut off too early
		data = data[:at]
	case 2: // a length of the largest number
		for i := at; i < min(at+4, len(data)); i++ {
			data[i] = 0xff
		}
	case 3: // digits, as in lengths and versions in text
		for i := range data {
			if data[i] >= '0' && data[i] <= '9' {
				data[i] = '0' + byte(random.IntN(10))
			}
		}
	case 4: // a repeated part
		data = append(data[:len(data):len(data)], data[at:]...)
	default: // anything
		for i := at; i < len(data); i++ {
			data[i] = byte(random.Uint32())
		}
	}
	return data
}
