package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/prometheus/procfs"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/workload"
)

// requestLimit is the least jute.maxbuffer, which the member in TestMember has.
const requestLimit = 100_000

// TestMember has the tests on one member, which need no quorum.
func TestMember(t *testing.T) {
	s := suite(t, newest)
	s.Options += fmt.Sprintf("jute_max_buffer: %d\n", requestLimit)
	s.Addrs = []string{"127.0.7.4"}
	admin := hasAdmin(t, s.Tools[toolJars])
	if admin {
		s.Options += "admin_port: 8080\n"
	}
	c := databasetest.Start(t, s, 1)
	t.Run("snapshot", func(t *testing.T) { snapshots(t, c, admin) })
	t.Run("a lost lock", func(t *testing.T) { lostLock(t, c) })
	t.Run("elections", func(t *testing.T) { elects(t, c) })
	for i, by := range []database.Transport{database.Lean, database.Standard} {
		t.Run(string(by), func(t *testing.T) {
			t.Run("exact limit", func(t *testing.T) { exactLimit(t, c, by) })
			t.Run("put cost", func(t *testing.T) { putCost(t, c, by) })
			t.Run("parents at once", func(t *testing.T) { parentsAtOnce(t, c, spread(500+i, by), spread(1000+i, by)) })
			t.Run("a maker that dies", func(t *testing.T) { makerDies(t, c, spread(40+i, by)) })
			t.Run("prefer", func(t *testing.T) { prefer(t, c, by) })
			t.Run("a thousand clients", func(t *testing.T) { thousandClients(t, c, spread(100+i, by)) })
		})
	}
}

// spread returns the protocol for the member in TestMember and that many parents.
func spread(parents int, by database.Transport) Protocol {
	return Protocol{Keys: Keyspace{Parents: parents}, MaxPacket: requestLimit, Transport: by}
}

// children requests each znode's number of children, -1 if it does not exist.
func children(t testing.TB, target database.Target, paths ...string) []int {
	t.Helper()
	s, err := open(t.Context(), target, 4096)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer s.close()
	var found []int
	for _, path := range paths {
		n, err := s.children(t.Context(), path)
		if err != nil {
			t.Errorf("list the process's children: %v", err)
		}
		found = append(found, n)
	}
	return found
}

// dialer is a driver or a protocol.
type dialer interface {
	Dial(context.Context, database.Target) (database.Client, error)
}

func dial(t testing.TB, d dialer, target database.Target) *client {
	t.Helper()
	dialed, err := d.Dial(t.Context(), target)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() {
		if err := dialed.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
	})
	return dialed.(*client)
}

func countKeys(t *testing.T, d any, target database.Target) int64 {
	t.Helper()
	n, err := d.(database.Counter).CountKeys(t.Context(), target)
	if err != nil {
		t.Fatalf("count the keys: %v", err)
	}
	return n
}

// The limit clients keep to is the server's own: one byte more, from a client that does not know
// it, costs the connection.
func exactLimit(t *testing.T, c *databasetest.Cluster, by database.Transport) {
	protocol := spread(1, by)
	key := []byte("k")
	largest := protocol.MaxValue(len(key))
	if err := dial(t, protocol, c.Target()).Put(t.Context(), key, make([]byte, largest)); err != nil {
		t.Errorf("value of %d bytes: %v", largest, err)
	}
	protocol.MaxPacket++
	err := dial(t, protocol, c.Target()).Put(t.Context(), []byte("l"), make([]byte, largest+1))
	if outcome, class := database.Classify(err); outcome != workload.Unknown || class != database.ClassConnection {
		t.Errorf("value of %d bytes: %v", largest+1, err)
	}
	// A client may have been dialed for less than the server accepts; then the library
	// has no room for more.
	target := c.Target()
	target.MaxBytes = 5000
	modest := dial(t, protocol, target)
	if err := modest.Put(t.Context(), key, make([]byte, 5000-len(key))); err != nil {
		t.Errorf("put a key: %v", err)
	}
	if got, err := modest.Get(t.Context(), key, workload.ReadStale); err != nil || len(got) != 4999 {
		t.Errorf("read %d bytes: %v", len(got), err)
	}
	err = modest.Put(t.Context(), key, make([]byte, 10_000))
	if outcome, class := database.Classify(err); by == database.Standard && (outcome != workload.Failed || class != database.ClassTooLarge) || by == database.Lean && err != nil {
		t.Errorf("more than it was dialed for: %v", err)
	}
}

// A put costs one transaction: always with a right hint, and without a hint if the
// previous put needed the same request.
func putCost(t *testing.T, c *databasetest.Cluster, by database.Transport) {
	protocol := spread(7, by)
	conn := dial(t, protocol, c.Target())
	before := countKeys(t, protocol, c.Target())
	transactions := func(do func()) int64 {
		before := lastTransaction(t, c, 0)
		do()
		return lastTransaction(t, c, 0) - before
	}
	puts := func(from, to int) func() {
		return func() {
			for i := from; i < to; i++ {
				if err := conn.Put(t.Context(), fmt.Append(nil, by, i), nil); err != nil {
					t.Fatalf("put: %v", err)
				}
			}
		}
	}
	for _, tt := range []struct {
		name string
		do   func()
		want int64
	}{
		{"new keys", puts(0, 10), 10},
		{"the same keys again", puts(0, 10), 11},
		{"and again", puts(0, 10), 10},
		{"new keys again", puts(10, 20), 11},
		{"new and old keys in turn, with hints", func() {
			for i := 20; i < 30; i++ {
				if err := conn.PutNew(t.Context(), fmt.Append(nil, by, i), nil); err != nil {
					t.Fatalf("put new key %d: %v", i, err)
				}
				if err := conn.PutExisting(t.Context(), fmt.Append(nil, by, i-20), nil); err != nil {
					t.Fatalf("put existing key %d: %v", i-20, err)
				}
			}
		}, 20},
		{"a wrong hint", func() {
			if err := errors.Join(conn.PutNew(t.Context(), fmt.Append(nil, by, 0), nil), conn.PutExisting(t.Context(), fmt.Append(nil, by, 30), nil)); err != nil {
				t.Fatalf("a put with a wrong hint: %v", err)
			}
		}, 4},
		{"another connection", func() { dial(t, protocol, c.Target()) }, 1},
	} {
		if got := transactions(tt.do); got != tt.want {
			t.Errorf("%s: %d transactions, want %d", tt.name, got, tt.want)
		}
	}
	if added := countKeys(t, protocol, c.Target()) - before; added != 31 {
		t.Errorf("%d keys were added, want 31", added)
	}
}

// lastTransaction returns the number of the newest transaction a member applied.
func lastTransaction(t testing.TB, c *databasetest.Cluster, member int) int64 {
	t.Helper()
	text, err := ask(t.Context(), c.Target(), member, "srvr")
	if err != nil {
		t.Fatalf("ask member %d for its newest transaction: %v", member, err)
	}
	var zxid int64
	if _, err := fmt.Sscanf(text[strings.Index(text, "Zxid: "):], "Zxid: 0x%x", &zxid); err != nil {
		t.Fatalf("the answer of member %d to srvr has no transaction: %v", member, err)
	}
	return zxid
}

// Parents are complete however many clients create them at once, and whatever existed.
func parentsAtOnce(t *testing.T, c *databasetest.Cluster, protocols ...Protocol) {
	for _, p := range protocols { // they share names
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				conn, err := p.Dial(t.Context(), c.Target())
				if err != nil {
					t.Errorf("dial the member: %v", err)
					return
				}
				defer conn.Close()
				// Right after its own dial, every client finds every parent.
				for i := 0; i < p.Keys.Parents; i += 7 {
					if _, _, err := conn.(*client).get(t.Context(), nil, []byte(p.Keys.parent(i))); err != nil {
						t.Errorf("parent %d of %d: %v", i, p.Keys.Parents, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestQuorum asks three members, each by its own connections.
func TestQuorum(t *testing.T) {
	s := suite(t, newest)
	s.Options += "snap_count: 100\n"
	s.Addrs = []string{"127.0.7.8", "127.0.7.9", "127.0.7.10"}
	c := databasetest.Start(t, s, 3)
	t.Run("count", func(t *testing.T) { countAtOnce(t, c) })
	t.Run("log rules", func(t *testing.T) { rulesFind(t, c) })
}

// A count includes every answered write, whichever member counts.
func countAtOnce(t *testing.T, c *databasetest.Cluster) {
	protocol := spread(3, database.Lean)
	conns := []*client{dial(t, protocol, c.To(0)), dial(t, protocol, c.To(1)), dial(t, protocol, c.To(2))}
	before := countKeys(t, protocol, c.Target())
	for i := range 120 {
		if err := conns[i%3].Put(t.Context(), fmt.Append(nil, i), nil); err != nil {
			t.Fatalf("put: %v", err)
		}
		target := c.Target()
		target.Endpoints = target.Endpoints[i/3%3:][:1]
		if got, want := countKeys(t, protocol, target)-before, int64(i+1); got != want {
			t.Errorf("member %d counts %d after %d writes", i/3%3, got, want)
		}
	}
}

// The rules find events in real server logs.
func rulesFind(t *testing.T, c *databasetest.Cluster) {
	conn := dial(t, c.Driver(), c.Target())
	for i := range 200 {
		if err := conn.Put(t.Context(), fmt.Append(nil, i), nil); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	want := []string{"leader elected", "following", "election", "snapshot"}
	deadline := time.Now().Add(databasetest.Patience)
	for {
		found := map[string]bool{}
		for i := range 3 {
			events(t, c, i, found)
		}
		if !slices.ContainsFunc(want, func(event string) bool { return !found[event] }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("found %v, want %v", found, want)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// events adds the event kinds in a member log.
func events(t *testing.T, c *databasetest.Cluster, member int, found map[string]bool) {
	t.Helper()
	log, err := os.ReadFile(c.Logs(member, Name))
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	// Without its configuration Logback logs everything, which is slow.
	if strings.Contains(string(log), " DEBUG ") || !strings.Contains(string(log), " INFO ") {
		t.Errorf("the log of member %d has another level than INFO", member)
	}
	for _, rule := range c.Plan(member).LogRules {
		if regexp.MustCompile(rule.Pattern).Match(log) {
			found[rule.Event] = true
		}
	}
}

// If the client that creates the parents dies half-way, another that waited creates the
// rest.
func makerDies(t *testing.T, c *databasetest.Cluster, protocol Protocol) {
	maker, err := open(t.Context(), c.Target(), 4096)
	if err != nil {
		t.Fatalf("open a session: %v", err)
	}
	if mine, err := protocol.Keys.take(t.Context(), maker); !mine || err != nil {
		t.Fatalf("the lock is free: %v, %v", mine, err)
	}
	for i := range 20 {
		if err := maker.create(t.Context(), protocol.Keys.parent(i), 0); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			t.Fatalf("create a znode: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if conn, err := protocol.Dial(ctx, c.Target()); err == nil {
		_ = conn.Close()
		t.Error("a dial does not wait for the parents")
	}
	maker.close()
	dial(t, protocol, c.Target())
	paths := []string{protocol.Keys.lock()}
	for i := range protocol.Keys.Parents {
		paths = append(paths, protocol.Keys.parent(i))
	}
	for i, n := range children(t, c.Target(), paths...) {
		if wanted := i > 0; wanted != (n >= 0) { // the lock is gone
			t.Errorf("%s: %d children", paths[i], n)
		}
	}
}

// A connection that prefers a member talks to it alone.
func prefer(t *testing.T, c *databasetest.Cluster, by database.Transport) {
	protocol := spread(1, by)
	target := c.Target()
	target.Endpoints = append([]string{"127.0.7.4:1"}, target.Endpoints...)
	target.Prefer = 1
	dial(t, protocol, target)
	target.Prefer = -1 // takes the one that lives
	for range 5 {
		if err := dial(t, protocol, target).Put(t.Context(), []byte("k"), nil); err != nil {
			t.Errorf("dial the member: %v", err)
		}
	}
	target.Prefer = 0
	if conn, err := protocol.Dial(t.Context(), target); err == nil {
		_ = conn.Close()
		t.Error("connected to a member that does not live")
	}
	target.Prefer = 2
	if _, err := protocol.Dial(t.Context(), target); err == nil {
		t.Error("connected to a member that there is not")
	}
	target.Prefer, target.TLS = 1, &database.TLS{}
	if _, err := protocol.Dial(t.Context(), target); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with TLS: %v", err)
	}
}

// A thousand clients connect, as many at once as in a load, and each takes little
// memory.
func thousandClients(t *testing.T, c *databasetest.Cluster, protocol Protocol) {
	const clients, atOnce = 1000, 32
	target := c.To(0)
	target.MaxBytes = 256 + 1024
	dial(t, protocol, target)
	before := countKeys(t, protocol, target)
	heap, rss := memory(t)
	conns := make([]database.Client, clients)
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range conns {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
			defer cancel()
			var err error
			if conns[i], err = protocol.Dial(ctx, target); err != nil {
				t.Errorf("dial the member: %v", err)
				return
			}
			if err := conns[i].Put(ctx, fmt.Appendf(nil, "%0256d", i), make([]byte, 1024)); err != nil {
				t.Errorf("put a key: %v", err)
			}
		})
	}
	wg.Wait()
	nowHeap, nowRSS := memory(t)
	t.Logf("%d clients: heap and stacks %.1f MB more, RssAnon %.1f MB more", clients, float64(nowHeap-heap)/1e6, float64(nowRSS-rss)/1e6)
	if each := (nowHeap - heap) / clients; each > 48<<10 {
		t.Errorf("every client takes %d bytes", each)
	}
	for _, conn := range conns {
		if conn != nil {
			wg.Go(func() { _ = conn.Close() })
		}
	}
	wg.Wait()
	if added := countKeys(t, protocol, target) - before; added != clients {
		t.Errorf("%d keys were added, want %d", added, clients)
	}
}

// memory returns the bytes in the live heap and in stacks, and in RssAnon.
func memory(t testing.TB) (heap, rss int64) {
	t.Helper()
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	self, err := procfs.Self()
	if err != nil {
		t.Fatalf("find this process: %v", err)
	}
	status, err := self.NewStatus()
	if err != nil {
		t.Fatalf("read the status of the process: %v", err)
	}
	return int64(stats.HeapAlloc + stats.StackInuse), int64(status.RssAnon)
}
