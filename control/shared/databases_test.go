package shared

import (
	"errors"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/cetcd"
	"github.com/coreos/dbtester/pkg/database/consul"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/zetcd"
	"github.com/coreos/dbtester/pkg/database/zookeeper"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/workload"
)

func TestMain(m *testing.M) {
	databasetest.Main(m, database.NewRegistry(etcd.Database(), cetcd.Database()))
}

// A claim and a cleanup mean the same on every database.
func TestClaimOfDatabases(t *testing.T) {
	for _, tt := range []struct {
		db               database.Database
		release, options string
		addr             string
	}{
		{etcd.Database(), "", "", "127.0.9.11"},
		{cetcd.Database(), "", "", "127.0.9.12"},
		{consul.Database(), "1.21.0", "", "127.0.9.13"},
		{zetcd.Database(), "0.0.5", "key_parents: 5", "127.0.9.14"},
		{zookeeper.Database(), "3.9.5", "java_xms: 32M\njava_xmx: 256M\nkey_parents: 5", "127.0.9.15"},
	} {
		t.Run(tt.db.Name, func(t *testing.T) {
			s := databasetest.Suite{Database: tt.db, Options: tt.options, Addrs: []string{tt.addr}}
			if tt.release != "" {
				s.Tools = databasetest.Release(t, tt.db, tt.release)
			}
			c := databasetest.Start(t, s, 1)
			p := &prefixed{t: t, driver: c.Driver(), target: c.Target()}
			p.target.Prefix = "team/run"
			p.check()
		})
	}
}

// claimedKeySize is the size of numbered keys in bytes.
const claimedKeySize = 12

// prefixed is a prefix on a real cluster.
type prefixed struct {
	t      *testing.T
	driver database.Driver
	target database.Target
}

func (p *prefixed) check() {
	t := p.t
	first := p.take(Claimant{Run: "1", Owner: "ann", Keys: span(0, 10)})
	for i := range int64(10) {
		p.put(i)
	}
	p.refused("the prefix is in use", Claimant{Run: "2", Owner: "bob", Reuse: true}, "run 1 of ann")
	p.end(first)
	p.refused("keys of another owner", Claimant{Run: "2", Owner: "bob"}, "reuse: true")

	again := p.take(Claimant{Run: "3", Owner: "ann"})
	if err := again.Cover(t.Context(), workload.KeySpan{Size: claimedKeySize, First: 10, End: 11}); err != nil {
		t.Fatalf("cover more keys: %v", err)
	}
	p.put(10)
	p.end(again)

	p.put(20) // without a claim
	p.refused("a key of nobody", Claimant{Run: "4", Owner: "ann"}, "keys lie below the prefix")
	last := p.take(Claimant{Run: "4", Owner: "ann", Reuse: true})
	done, left := CleanHeld(t.Context(), last, t.Logf)
	if done.Removed != 11 || done.Error != "" || left != 0 {
		t.Errorf("the cleanup removed %d keys, want the 11 of the claim: %q, %d left", done.Removed, done.Error, left)
	}
	p.has(20, true)
	p.has(0, false)
	p.has(10, false)
	if found, err := Find(t.Context(), p.driver, p.target, "4"); err != nil || found.Claimed || found.Keys != 1 || found.Why == nil {
		t.Errorf("after the cleanup: %+v, %v; want no claim, and one key that may not be removed", found, err)
	}
	p.cleanLeft()
}

// cleanLeft removes the key without a claim, and the claim of the cleanup with it.
func (p *prefixed) cleanLeft() {
	t := p.t
	all := Left{Which: database.Removable{All: true}}
	done, left := CleanLeft(t.Context(), p.driver, p.target, all, "ann", t.Logf)
	if done.Removed != 1 || done.Error != "" || left != 0 {
		t.Errorf("the cleanup of all keys removed %d, want 1: %q, %d left", done.Removed, done.Error, left)
	}
	p.has(20, false)
	if found, err := Find(t.Context(), p.driver, p.target, "4"); err != nil || found.Claimed || found.Keys != 0 {
		t.Errorf("after the cleanup of all keys: %+v, %v; want no claim and no key", found, err)
	}
}

func span(first, end int64) workload.KeySpans {
	return workload.KeySpans{{Size: claimedKeySize, First: first, End: end}}
}

func (p *prefixed) take(who Claimant) *Hold {
	p.t.Helper()
	h, err := Take(p.t.Context(), p.driver, p.target, who, p.t.Logf)
	if err != nil {
		p.t.Fatalf("run %s of %s takes the prefix: %v", who.Run, who.Owner, err)
	}
	return h
}

// refused fails the test unless the claim is refused with a text.
func (p *prefixed) refused(why string, who Claimant, text string) {
	p.t.Helper()
	h, err := Take(p.t.Context(), p.driver, p.target, who, p.t.Logf)
	if err == nil {
		p.end(h)
		p.t.Fatalf("%s: run %s of %s takes the prefix", why, who.Run, who.Owner)
	}
	if !strings.Contains(err.Error(), text) {
		p.t.Errorf("%s: want a refusal with %q, got %v", why, text, err)
	}
}

func (p *prefixed) end(h *Hold) {
	p.t.Helper()
	if err := h.End(p.t.Context()); err != nil {
		p.t.Fatalf("end the claim: %v", err)
	}
}

// dial dials the cluster, at most five times if a busy machine lets dials time out.
func (p *prefixed) dial() database.Client {
	p.t.Helper()
	for attempt := 1; ; attempt++ {
		c, err := p.driver.Dial(p.t.Context(), p.target)
		if err == nil {
			return c
		}
		if _, class := database.Classify(err); class != database.ClassTimeout || attempt == 5 {
			p.t.Fatalf("dial: %v", err)
		}
	}
}

func (p *prefixed) put(number int64) {
	p.t.Helper()
	c := p.dial()
	err := c.Put(p.t.Context(), workload.AppendKey(nil, number, claimedKeySize), []byte("value"))
	if err = errors.Join(err, c.Close()); err != nil {
		p.t.Fatalf("put key %d: %v", number, err)
	}
}

func (p *prefixed) has(number int64, want bool) {
	p.t.Helper()
	c := p.dial()
	_, err := c.Get(p.t.Context(), workload.AppendKey(nil, number, claimedKeySize), workload.ReadLinearizable)
	if missing := errors.Is(err, database.ErrNotFound); missing == want || !missing && err != nil {
		p.t.Errorf("key %d: %v, want it to be there: %t", number, err, want)
	}
	if err := c.Close(); err != nil {
		p.t.Errorf("close: %v", err)
	}
}
