package databasetest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// liars is how many servers lie, each in ways of its own.
const liars = 12

// lieWithin bounds each call to a server that lies: it may never answer.
const lieWithin = 300 * time.Millisecond

// liesCase: whatever a server answers, a driver returns: an error, or what the answer says.
// It neither panics nor takes memory by what an answer claims. The answers are those of a
// member, changed on their way.
func liesCase(t *testing.T, f *fixture) {
	target := f.Target()
	member := target.Endpoints[0]
	for seed := range uint64(liars) {
		liar := lieFor(t, member, seed)
		lied := target
		lied.Endpoints, lied.Prefix = []string{liar.addr}, "lies/below"
		f.believe(t, lied)
		liar.end()
	}
}

// believe makes every call of a driver and its client that asks a server, one after the
// other.
func (f *fixture) believe(t *testing.T, lied database.Target) {
	t.Helper()
	for _, call := range lieCalls(f, lied) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ctx, cancel := context.WithTimeout(t.Context(), lieWithin)
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s panics: %v", call.name, database.Panicked(p))
				}
			}()
			call.do(ctx)
		}()
		cancel()
		runtime.ReadMemStats(&after)
		const most = 512 << 20 // far more than the largest answer takes
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("%s allocated %d MiB for what a server claims", call.name, took>>20)
		}
	}
}

type lieCall struct {
	name string
	do   func(context.Context)
}

func lieCalls(f *fixture, lied database.Target) []lieCall {
	d, which := f.driver, database.Removable{Numbers: workload.KeySpans{{Size: prefixKeySize, First: 0, End: 5}}}
	calls := []lieCall{
		{"ready", func(ctx context.Context) { _ = d.Ready(ctx, lied, 0) }},
		{"use a client", func(ctx context.Context) { lieClient(ctx, d, lied) }},
	}
	if v, ok := d.(database.Versioner); ok {
		calls = append(calls, lieCall{"version", func(ctx context.Context) { _, _ = v.Version(ctx, lied, 0) }})
	}
	if l, ok := d.(database.Leader); ok {
		calls = append(calls, lieCall{"leader", func(ctx context.Context) { _, _ = l.Leader(ctx, lied) }})
	}
	if c, ok := d.(database.Counter); ok {
		calls = append(calls, lieCall{"count", func(ctx context.Context) { _, _ = c.CountKeys(ctx, lied) }})
	}
	if k, ok := d.(database.KeyFinder); ok {
		calls = append(calls, lieCall{"highest key", func(ctx context.Context) { _, _ = k.HighestKey(ctx, lied, prefixKeySize) }})
	}
	if c, ok := d.(database.Cleaner); ok {
		calls = append(calls, lieCall{"clean", func(ctx context.Context) { _ = c.Clean(ctx, lied, which, func(int64) {}) }})
	}
	if c, ok := d.(database.Claimer); ok {
		calls = append(calls, lieCall{"claim", func(ctx context.Context) { _, _, _ = c.Claim(ctx, lied) }})
	}
	if r, ok := d.(database.FillReporter); ok {
		calls = append(calls, lieCall{"fill", func(ctx context.Context) { _, _, _ = r.Fill(ctx, lied) }})
	}
	return calls
}

// lieClient applies every operation once.
func lieClient(ctx context.Context, d database.Driver, lied database.Target) {
	c, err := d.Dial(ctx, lied)
	if err != nil {
		return
	}
	key := workload.AppendKey(nil, 1, prefixKeySize)
	_ = c.Put(ctx, key, []byte("value"))
	_, _ = c.Get(ctx, key, workload.ReadLinearizable)
	if s, ok := c.(database.Swapper); ok {
		_ = s.Swap(ctx, key, []byte("value"), []byte("other"))
	}
	if r, ok := c.(database.Ranger); ok {
		_, _, _ = r.Range(ctx, key, 10, workload.ReadLinearizable)
	}
	if x, ok := c.(database.Transactor); ok {
		_, _ = x.Version(ctx, key)
		_ = x.Txn(ctx, []database.GuardedPut{{Key: key, Value: []byte("txn"), Version: 1}})
	}
	if m, ok := c.(database.ManyVersions); ok {
		_ = m.Versions(ctx, [][]byte{key, workload.AppendKey(nil, 2, prefixKeySize)}, make([]int64, 2))
	}
	if x, ok := c.(database.Deleter); ok {
		_ = x.Delete(ctx, key)
	}
	_ = c.Close()
}

// liar passes requests on to a member, and changes what it answers.
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

// keep remembers connections to close at the end; false if that has come.
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

// lie copies with changes. Every second piece stays as it is, so that exchanges that begin
// well go on.
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
	case 1: // an end too early, and what follows
		data = data[:at]
	case 2: // a length of the largest number
		for i := at; i < min(at+4, len(data)); i++ {
			data[i] = 0xff
		}
	case 3: // digits, as in lengths and versions of text
		for i := range data {
			if data[i] >= '0' && data[i] <= '9' {
				data[i] = '0' + byte(random.IntN(10))
			}
		}
	case 4: // a part twice
		data = append(data[:len(data):len(data)], data[at:]...)
	default: // anything
		for i := at; i < len(data); i++ {
			data[i] = byte(random.Uint32())
		}
	}
	return data
}
