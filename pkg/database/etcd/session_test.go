package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// A watch continues after its member was killed and restarted. It reports the ends in between, with
// the interval in which each happened.
func TestWatchGoesOn(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	c := startOne(t, "")
	dial := func() database.Sessions {
		s, err := c.Driver().(database.SessionDialer).DialSessions(t.Context(), c.Target())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	watched := dial()
	ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
	defer cancel()
	ready, ends := make(chan struct{}), make(chan database.Change, 10)
	var tasks sync.WaitGroup
	tasks.Go(func() {
		if err := watched.Watch(ctx, func() { close(ready) }, func(c database.Change) {
			if !c.New {
				ends <- c
			}
		}); err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	<-ready
	granted := time.Now()
	var held []database.Session
	for i := range 3 {
		lease, err := watched.Grant(ctx, time.Hour)
		if err == nil {
			err = lease.Attach(ctx, fmt.Append(nil, i), nil)
		}
		if err != nil {
			t.Fatalf("grant a lease with a key: %v", err)
		}
		held = append(held, lease)
	}
	end := func(i int) database.Change {
		t.Helper()
		if err := held[i].Release(ctx); err != nil {
			t.Errorf("release: %v", err)
		}
		select {
		case g := <-ends:
			if string(g.Key) != fmt.Sprint(i) {
				t.Errorf("the key %q ended, want %d", g.Key, i)
			}
			return g
		case <-ctx.Done():
			t.Fatal("the end of a key was not seen")
			return database.Change{}
		}
	}
	if g := end(0); !g.Since.IsZero() {
		t.Errorf("an end that the member reported at once is known since %v", g.Since)
	}
	c.Kill(0)
	c.Restart(0)
	c.WaitReady()
	// The first watch may be back before or after this one: then its end is an interval or not.
	end(1)
	if g := end(2); !g.Since.IsZero() && (g.Since.Before(granted) || g.Since.After(g.At)) {
		t.Errorf("the key ended between %v and %v", g.Since, g.At)
	}
	cancel()
	tasks.Wait()
	if len(ends) > 0 {
		t.Errorf("%d ends were seen twice", len(ends))
	}
}

// The watch reports one end for each lease that is not renewed, and the member counts as many.
func TestExpiredLeases(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	c := startOne(t, "")
	s, err := c.Driver().(database.SessionDialer).DialSessions(t.Context(), c.Target())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
	defer cancel()
	const held = 300
	var ends, grants atomic.Int64
	ready, over := make(chan struct{}), make(chan struct{})
	var tasks sync.WaitGroup
	tasks.Go(func() {
		err := s.Watch(ctx, func() { close(ready) }, func(c database.Change) {
			if !c.New && ends.Add(1) == held {
				close(over)
			}
		})
		if err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	<-ready
	for part := range 10 {
		tasks.Go(func() {
			for i := range held / 10 {
				sent := time.Now()
				err := expiring(ctx, s, &grants, part, i)
				for errors.Is(err, database.ErrNoSession) && time.Since(sent) >= sessionFacts().Least { // a busy machine was too late
					sent = time.Now()
					err = expiring(ctx, s, &grants, part, i)
				}
				if err != nil {
					t.Errorf("grant a lease with a key: %v", err)
				}
			}
		})
	}
	select {
	case <-over:
	case <-ctx.Done():
		t.Errorf("%d of %d leases ended", ends.Load(), held)
	}
	counted := int64(-1) // each lease after its end
	for counted < grants.Load() && ctx.Err() == nil && !t.Failed() {
		counted = expired(t, c.Target().Endpoints[0])
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	tasks.Wait()
	if counted != grants.Load() || ends.Load() != held {
		t.Errorf("the member counts %d leases that expired, want %d; the watch %d ends, want %d", counted, grants.Load(), ends.Load(), held)
	}
}

// expiring grants the shortest lease, counts it, and attaches a key.
func expiring(ctx context.Context, s database.Sessions, grants *atomic.Int64, part, i int) error {
	lease, err := s.Grant(ctx, sessionFacts().Least)
	if err != nil {
		return err
	}
	grants.Add(1)
	return lease.Attach(ctx, fmt.Appendf(nil, "%d-%d", part, i), nil)
}

// expired returns the number of leases that a member ended because they were not renewed.
func expired(t *testing.T, endpoint string) int64 {
	t.Helper()
	resp, err := http.Get("http://" + endpoint + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^etcd_debugging_server_lease_expired_total (\S+)$`).FindSubmatch(text)
	if line == nil {
		t.Fatal("the metrics lack leases that expired")
	}
	n, err := strconv.ParseFloat(string(line[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(n)
}
