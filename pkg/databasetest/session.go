package databasetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// slowestExpiry bounds the TTLs for which the suite waits: a database that ends its shortest
// session later is not tested for expiry.
const slowestExpiry = 8 * time.Second

// ends holds the keys a watch saw ending, and the new keys.
type ends struct {
	mu         sync.Mutex
	seen, came map[string]database.Change
}

// of returns the end of a key, if it was seen.
func (e *ends) of(key string) (database.Change, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g, ok := e.seen[key]
	return g, ok
}

// isNew reports whether a key was seen as new.
func (e *ends) isNew(key string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.came[key]
	return ok
}

// awaitNew waits until a key is reported as new.
func (e *ends) awaitNew(t *testing.T, key string) {
	t.Helper()
	Until(t, opWithin, 10*time.Millisecond, func() error {
		if !e.isNew(key) {
			return fmt.Errorf("the new key %s was not reported", key)
		}
		return nil
	})
}

// await waits until a key ends.
func (e *ends) await(t *testing.T, key string) database.Change {
	t.Helper()
	var is database.Change
	Until(t, opWithin, 10*time.Millisecond, func() error {
		var ok bool
		if is, ok = e.of(key); !ok {
			return fmt.Errorf("the end of %s was not reported", key)
		}
		return nil
	})
	return is
}

// sessionDial dials sessions.
type sessionDial func(context.Context, database.Target) (database.Sessions, error)

// openSessions dials sessions the test closes at its end.
func openSessions(t *testing.T, f *fixture, dial sessionDial, prefix string) database.Sessions {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	target := f.Target()
	target.Prefix = prefix
	s, err := dial(ctx, target)
	if err != nil {
		t.Fatalf("dial sessions: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close sessions: %v", err)
		}
	})
	return s
}

// watched starts a watch, and returns its ends once it misses no end. The test ends the watch.
func watched(t *testing.T, s database.Sessions) *ends {
	t.Helper()
	e := &ends{seen: map[string]database.Change{}, came: map[string]database.Change{}}
	ctx, cancel := context.WithCancel(t.Context())
	ready, over := make(chan struct{}), make(chan error, 1)
	go func() {
		over <- s.Watch(ctx, func() { close(ready) }, func(c database.Change) {
			e.mu.Lock()
			defer e.mu.Unlock()
			c.Key = append([]byte(nil), c.Key...)
			if c.New {
				e.came[string(c.Key)] = c
				return
			}
			e.seen[string(c.Key)] = c
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Errorf("watch keys of sessions: %v", err)
		}
	})
	select {
	case <-ready:
	case <-time.After(opWithin):
		t.Fatal("the watch is not ready")
	}
	return e
}

// granted begins a session that has one key.
func granted(t *testing.T, s database.Sessions, ttl time.Duration, key string) database.Session {
	t.Helper()
	one, err := tryGrant(t, s, ttl, key)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// tryGrant is granted, but returns the error.
func tryGrant(t *testing.T, s database.Sessions, ttl time.Duration, key string) (database.Session, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	one, err := s.Grant(ctx, ttl)
	if err != nil {
		return nil, fmt.Errorf("grant a session: %w", err)
	}
	if one.TTL() < ttl {
		t.Errorf("the session has a TTL of %v, want at least %v", one.TTL(), ttl)
	}
	if err := one.Attach(ctx, []byte(key), []byte("value")); err != nil {
		return nil, fmt.Errorf("attach a key: %w", err)
	}
	return one, nil
}

// brief is a session that soon ends without renewals. The watch reported its key as new, so it will
// also report the end of the key.
type brief struct {
	database.Session
	key  string
	sent time.Time // when it was requested
}

// grantBrief grants a session. On a busy machine a session may end before the watch reports its key: the
// next one then has another key and a longer TTL.
func (e *ends) grantBrief(t *testing.T, s database.Sessions, facts *database.SessionFacts, name string) (b brief) {
	t.Helper()
	attempt := 0
	Until(t, Patience, 0, func() error {
		attempt++
		ttl := facts.Granted(time.Duration(attempt) * facts.Least)
		earliest, _ := facts.Ends(ttl, 1)
		b = brief{key: fmt.Sprintf("%s-%d", name, attempt), sent: time.Now()}
		var err error
		if b.Session, err = tryGrant(t, s, ttl, b.key); err != nil {
			if !errors.Is(err, database.ErrNoSession) || time.Since(b.sent) < earliest {
				t.Fatal(err)
			}
			t.Log(err)
			return err
		}
		if !holds(earliest-time.Since(b.sent), 10*time.Millisecond, func() bool { return e.isNew(b.key) }) {
			released(t, b)
			err = fmt.Errorf("the new key %s was not reported within %v", b.key, earliest)
			t.Log(err)
		}
		return err
	})
	return b
}

// released ends a session.
func released(t *testing.T, one database.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	if err := one.Release(ctx); err != nil {
		t.Errorf("release a session: %v", err)
	}
}

// sessionsCase tests sessions.
func sessionsCase(t *testing.T, f *fixture) {
	sessionsEnd(t, f, f.driver.(database.SessionDialer).DialSessions, database.SessionFactsOf(f.info(), f.driver))
}

// registryCase tests service registrations as sessions.
func registryCase(t *testing.T, f *fixture) {
	r := f.driver.(database.Registrar)
	facts := r.Registry()
	factsOfSessions(t, &facts)
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if err := r.AwaitRegistry(ctx, f.Target()); err != nil {
		t.Fatalf("wait for the registry: %v", err)
	}
	sessionsEnd(t, f, r.DialRegistry, &facts)
}

// sessionsEnd: a released session ends at once, an abandoned one not before its TTL, a
// renewed one not at all, and a watch sees new keys, and only those below its prefix.
func sessionsEnd(t *testing.T, f *fixture, dial sessionDial, facts *database.SessionFacts) {
	prefix := ""
	if f.open() {
		prefix = ourPrefix
	}
	f.part(t, "release", func(t *testing.T) {
		ours, others := openSessions(t, f, dial, prefix), openSessions(t, f, dial, "shared/run-10")
		ttl := facts.Granted(facts.Least + 2*time.Minute) // no session expires meanwhile
		theirs := granted(t, others, ttl, "theirs")
		sees := watched(t, ours)
		one, left, late := granted(t, ours, ttl, "one"), granted(t, ours, ttl, "left"), granted(t, ours, ttl, "late")
		for _, key := range []string{"one", "left", "late"} {
			sees.awaitNew(t, key) // a Consul agent that cannot write a service now tries again after 15 s
		}
		released(t, late)
		sees.await(t, "late")
		released(t, theirs)
		released(t, one)
		left.Abandon()
		released(t, left)
		released(t, left)
		sees.await(t, "one")
		sees.await(t, "left")
		if _, seen := sees.of("theirs"); seen {
			t.Error("the end of a key outside the prefix was reported")
		}
		ctx, cancel := context.WithTimeout(t.Context(), opWithin)
		defer cancel()
		if err := one.Keep(ctx); !errors.Is(err, database.ErrNoSession) {
			t.Errorf("renewing a session that has ended returned %v, want %v", err, database.ErrNoSession)
		}
	})
	f.part(t, "take", func(t *testing.T) { takes(t, openSessions(t, f, dial, prefix), facts) })
	earliest, _ := facts.Ends(facts.Least, 1)
	if earliest > slowestExpiry {
		return
	}
	f.part(t, "expiry", func(t *testing.T) { expires(t, f, openSessions(t, f, dial, prefix), facts) })
}

// takes: if two sessions take a key, only one has it, and the other one once the first has ended,
// maybe after a while.
func takes(t *testing.T, s database.Sessions, facts *database.SessionFacts) {
	ttl := facts.Least + time.Minute/2/facts.Step*facts.Step // no session expires meanwhile
	one, other := granted(t, s, ttl, "takes-one"), granted(t, s, ttl, "takes-other")
	if _, can := one.(database.Taker); can != facts.Takes {
		t.Fatalf("sessions can take keys: %v, and their facts say %v", can, facts.Takes)
	}
	if facts.Takes {
		take := func(is database.Session) bool {
			ctx, cancel := context.WithTimeout(t.Context(), opWithin)
			defer cancel()
			taken, err := is.(database.Taker).Take(ctx, []byte("taken"), []byte("value"))
			if err != nil {
				t.Fatalf("take a key: %v", err)
			}
			return taken
		}
		if !take(one) || take(other) {
			t.Fatal("the first session that takes a key must have it, and no other one")
		}
		released(t, one)
		Until(t, Patience, 100*time.Millisecond, func() error {
			if !take(other) {
				return errors.New("the key of a session that has ended cannot be taken")
			}
			return nil
		})
	}
	released(t, one)
	released(t, other)
}

// expires lets one session expire while another is renewed.
func expires(t *testing.T, f *fixture, s database.Sessions, facts *database.SessionFacts) {
	leads := f.leads(t)
	sees := watched(t, s)
	dead, alive := sees.grantBrief(t, s, facts, "dead"), sees.grantBrief(t, s, facts, "alive")
	renewed, gap := alive.sent, time.Duration(0) // between two renewals, at most
	dead.Abandon()
	earliest, _ := facts.Ends(alive.TTL(), 1)
	earliestDead, latest := facts.Ends(dead.TTL(), 1)
	Until(t, latest+opWithin, alive.TTL()/8, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), opWithin)
		defer cancel()
		at, err := f.renewAgain(t, leads, func() error { return alive.Keep(ctx) })
		gap = max(gap, time.Since(renewed))
		if err == nil {
			renewed = at
		} else if gap < earliest { // else this test was too slow
			t.Fatalf("renew a session: %v", err)
		}
		if _, over := sees.of(dead.key); !over {
			return errors.New("the end of the abandoned session was not reported")
		}
		return nil
	})
	if g, _ := sees.of(dead.key); g.At.Sub(dead.sent) < earliestDead {
		t.Errorf("the abandoned session ended %v after it was granted, want at least %v", g.At.Sub(dead.sent), earliestDead)
	}
	if g, ended := sees.of(alive.key); ended && gap < earliest && g.At.Sub(renewed) < earliest {
		t.Errorf("the renewed session ended %v after its renewal, want at least %v", g.At.Sub(renewed), earliest)
	}
	released(t, alive)
	sees.await(t, alive.key)
}

// renewAgain renews a session, again and again while the leader changes or has changed, which may also
// end connections. It returns the time of the last attempt, and its error.
func (f *fixture) renewAgain(t *testing.T, led int, renew func() error) (at time.Time, err error) {
	t.Helper()
	Until(t, opWithin, 100*time.Millisecond, func() error {
		at, err = time.Now(), renew()
		if err == nil || errors.Is(err, database.ErrNoSession) || !leaderChanges(err) && f.leads(t) == led {
			return nil
		}
		t.Logf("renew a session: %v", err)
		return err
	})
	return at, err
}

// leasesCase: requests begin, renew and end sessions by id and with the requested TTL, whatever the
// prefix of the client.
func leasesCase(t *testing.T, f *fixture) {
	facts := database.SessionFactsOf(f.info(), f.driver)
	target := f.Target()
	for _, prefix := range []string{"", ourPrefix} {
		if prefix != "" && !f.open() {
			continue
		}
		f.part(t, "prefix "+prefix, func(t *testing.T) {
			target.Prefix = prefix
			client := f.dial(t, target).(database.Leaser)
			ttl := facts.Least + time.Minute/2/facts.Step*facts.Step // no session expires meanwhile
			one, other := grantLease(t, client, ttl), grantLease(t, client, ttl)
			if one == other {
				t.Fatalf("two sessions have the id %x", one)
			}
			renewed(t, client, one)
			revoked(t, client, one)
			ctx, cancel := context.WithTimeout(t.Context(), opWithin)
			defer cancel()
			var err error
			// An etcd leader renews a lease it has, also while another member already answered that
			// the lease was revoked.
			Until(t, opWithin, 10*time.Millisecond, func() error {
				if err = client.KeepAlive(ctx, one); !errors.Is(err, database.ErrNoSession) {
					return fmt.Errorf("renewing a session that was ended returned %v, want %v", err, database.ErrNoSession)
				}
				return nil
			})
			mustClass(t, err, database.ClassNotFound, workload.Failed)
			if err := client.Revoke(ctx, one); err != nil && !errors.Is(err, database.ErrNoSession) {
				t.Errorf("ending a session again returned %v, want nothing or %v", err, database.ErrNoSession)
			}
			renewed(t, client, other)
			revoked(t, client, other)
			over, end := context.WithCancel(t.Context())
			end()
			if _, err := client.Grant(over, ttl); err == nil {
				t.Error("a grant whose context is over must be an error")
			}
		})
	}
}

// leasesExpire reports whether requests can begin sessions that expire soon without renewals.
func leasesExpire(f *fixture) bool {
	if !offers(workload.OpGrant)(f) {
		return false
	}
	facts := database.SessionFactsOf(f.info(), f.driver)
	_, latest := facts.Ends(facts.Least, 1)
	return 2*latest <= slowestExpiry
}

// leaseEndsCase lets one session expire while another is renewed, which depends on the servers.
// leasesCase checks the answers clients get about an ended session.
func leaseEndsCase(t *testing.T, f *fixture) {
	facts := database.SessionFactsOf(f.info(), f.driver)
	client := f.dial(t, f.Target()).(database.Leaser)
	earliest, latest := facts.Ends(facts.Least, 1)
	leads := f.leads(t)
	dead := grantLease(t, client, facts.Least)
	last := time.Now()
	alive := grantLease(t, client, facts.Least)
	begun := time.Now()
	Until(t, 2*latest+opWithin, facts.Least/8, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), opWithin)
		defer cancel()
		at, err := f.renewAgain(t, leads, func() error { return client.KeepAlive(ctx, alive) })
		if err == nil {
			last = at
		} else if time.Since(last) < earliest { // else this test was too slow
			t.Fatalf("renew a session: %v", err)
		}
		if left := 2*latest - time.Since(begun); left > 0 {
			return fmt.Errorf("the session that is not renewed may take another %v", left)
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	Until(t, opWithin, 2*latest, func() error {
		err := client.KeepAlive(ctx, dead)
		if errors.Is(err, database.ErrNoSession) {
			return nil
		}
		now := f.leads(t)
		if now == leads && !leaderChanges(err) {
			t.Errorf("a session that was granted %v before and not renewed is there: %v", time.Since(begun), err)
			return nil
		}
		leads = now
		t.Logf("another leader begins every TTL again: %v", err)
		return errors.New("a session that is not renewed is there")
	})
	if err := client.Revoke(ctx, alive); err != nil && !errors.Is(err, database.ErrNoSession) {
		t.Errorf("end a session: %v", err)
	}
}

// grantLease begins a session.
func grantLease(t *testing.T, client database.Leaser, ttl time.Duration) database.SessionID {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	id, err := client.Grant(ctx, ttl)
	if err != nil {
		t.Fatalf("grant a session: %v", err)
	}
	return id
}

// renewed renews a session, and revoked ends one.
func renewed(t *testing.T, client database.Leaser, id database.SessionID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	if err := client.KeepAlive(ctx, id); err != nil {
		t.Errorf("renew a session: %v", err)
	}
}

func revoked(t *testing.T, client database.Leaser, id database.SessionID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	if err := client.Revoke(ctx, id); err != nil {
		t.Errorf("end a session: %v", err)
	}
}

// sessionFacts: a database has the facts about its sessions, or the reason why it has no sessions.
func sessionFacts(t *testing.T, f *fixture) {
	_, dials := f.driver.(database.SessionDialer)
	facts := database.SessionFactsOf(f.info(), f.driver)
	if dials != (facts != nil) || dials == (f.info().NoSessions != "") {
		t.Fatalf("the driver dials sessions: %v; it must have facts of them (%v) or the reason why not (%q)", dials, facts, f.info().NoSessions)
	}
	if !dials {
		return
	}
	if requests := slices.Contains(f.info().Operations, workload.OpGrant); requests != (facts.Requests != "") || requests == (facts.NoRequests != "") {
		t.Errorf("clients grant sessions: %v; the facts must have what they send (%q) or the reason why not (%q)", requests, facts.Requests, facts.NoRequests)
	}
	factsOfSessions(t, facts)
}

// factsOfSessions: facts are complete and do not contradict themselves.
func factsOfSessions(t *testing.T, facts *database.SessionFacts) {
	t.Helper()
	earliest, latest := facts.Ends(facts.Least, 1)
	_, many := facts.Ends(facts.Least, 20_000)
	if facts.What == "" || facts.Rule == "" || facts.Renewal == "" || facts.Watch == "" || facts.Step <= 0 || facts.Least < facts.Step ||
		earliest < facts.Least || latest < earliest || many < latest {
		t.Errorf("the facts of sessions are incomplete or contradict themselves: %+v, ends after %v to %v, many up to %v", *facts, earliest, latest, many)
	}
}
