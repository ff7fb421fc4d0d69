package zookeeper

import (
	"fmt"
	"path"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/databasetest"
)

// held returns the value, version and transactions of every znode, from a member that has applied
// everything committed before. The child versions are left out: they change for the root and for a
// shared part of two prefixes.
func held(t testing.TB, c *databasetest.Cluster) map[string]string {
	t.Helper()
	s, err := openFor(t.Context(), c.Target(), 64<<10, maxListing)
	if err != nil {
		t.Fatalf("open a session: %v", err)
	}
	defer s.close()
	if err := s.sync(t.Context(), []byte("/")); err != nil {
		t.Fatalf("sync: %v", err)
	}
	h := &tree{s: s, slots: make(chan struct{}, 32), all: map[string]string{}}
	h.tasks.Go(func() { h.walk("/") })
	h.tasks.Wait()
	if h.err != nil {
		t.Fatalf("read all znodes: %v", h.err)
	}
	return h.all
}

// tree reads the znodes on a server, many at a time over one connection.
type tree struct {
	s     *session
	slots chan struct{}
	tasks sync.WaitGroup
	mu    sync.Mutex
	all   map[string]string
	err   error
}

func (h *tree) walk(at string) {
	h.slots <- struct{}{}
	value, stat, err := h.s.conn.Get(at)
	var names []string
	if err == nil && stat.NumChildren > 0 {
		names, _, err = h.s.conn.Children(at)
	}
	<-h.slots
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == zk.ErrNoNode:
	case err != nil:
		h.err = fmt.Errorf("%s: %w", at, err)
	case at != "/":
		h.all[at] = fmt.Sprintf("version %d, created in %#x, changed in %#x, owner %d, %q", stat.Version, stat.Czxid, stat.Mzxid, stat.EphemeralOwner, value)
	}
	for _, name := range names {
		if child := path.Join(at, name); child != "/zookeeper" {
			h.tasks.Go(func() { h.walk(child) })
		}
	}
}
