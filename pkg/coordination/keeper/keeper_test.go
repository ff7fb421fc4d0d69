package keeper

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

func TestKeys(t *testing.T) {
	k := NewKeys()
	if other := NewKeys(); k == other {
		t.Errorf("two runs have the same keys: %q", k)
	}
	if a, b, ok := k.Numbers(k.Of(12, 3)); a != 12 || b != 3 || !ok {
		t.Errorf("%q has the numbers %d and %d (%v), want 12 and 3", k.Of(12, 3), a, b, ok)
	}
	for _, key := range []string{"", "12-3", "other-12-3", string(k), string(k) + "-12", string(k) + "-12-", string(k) + "-12-3-4", string(k) + "-x-3"} {
		if _, _, ok := k.Numbers(key); ok {
			t.Errorf("%q is a key of %q", key, k)
		}
	}
}

// script answers renewals with the errors in a list, then without an error.
type script struct {
	database.Session
	took  time.Duration
	errs  []error
	keeps []time.Time
}

func (s *script) Keep(context.Context) error {
	s.keeps = append(s.keeps, time.Now())
	time.Sleep(s.took)
	if len(s.errs) == 0 {
		return nil
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return err
}

// TestKeeper: renewals come after equal times, a slow or lost one delays nothing but itself, and a session
// that has ended is renewed no more.
func TestKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("lost")
		renewed, failed := 0, 0
		k := New(Options{
			Most: 1, TTL: 10 * time.Second, Every: 3 * time.Second, Workers: 1,
			Renewed: func(time.Time, time.Duration) { renewed++ }, Lost: func(time.Time) { failed++ },
		})
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		k.Start(ctx, &group)
		is := &script{took: 500 * time.Millisecond, errs: []error{nil, lost, nil, database.ErrNoSession}}
		began := time.Now()
		s := &Session{Is: is, Sent: began}
		k.Keep(s, func() bool { return false })
		time.Sleep(time.Minute)
		cancel()
		group.Wait()
		if len(is.keeps) != 4 {
			t.Fatalf("renewed at %v, want four times", is.keeps)
		}
		for i, at := range is.keeps {
			if want := time.Duration(i+1) * 3 * time.Second; at.Sub(began) != want {
				t.Errorf("renewal %d came after %v, want %v", i, at.Sub(began), want)
			}
		}
		c := k.Counts()
		if renewed != 2 || failed != 2 || c.Times.TotalCount() != 2 || c.Lost != 2 || c.Late != 0 || c.Longest != is.took {
			t.Errorf("%d renewed, %d lost, counts %+v; want 2 and 2, none late", renewed, failed, c)
		}
		// The last one that was answered was the third. The end of the session is an answer.
		if s.Sent.Sub(began) != 9*time.Second || s.Answered.Sub(began) != 9500*time.Millisecond || !s.Unanswered {
			t.Errorf("renewed last from %v to %v, unanswered %v", s.Sent.Sub(began), s.Answered.Sub(began), s.Unanswered)
		}
	})
}

// TestSpread: sessions that begin together and have different times until their first renewals are never
// renewed together, and each at least once in every.
func TestSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions, every = 10, 5 * time.Second
		k := New(Options{Most: sessions, TTL: 3 * every, Every: every, Workers: 2, Renewed: func(time.Time, time.Duration) {}, Lost: func(time.Time) {}})
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		k.Start(ctx, &group)
		began := time.Now()
		var all []*script
		for i := range sessions {
			is := &script{took: time.Millisecond}
			all = append(all, is)
			k.KeepFrom(&Session{Is: is, Sent: began}, every*time.Duration(i+1)/sessions, func() bool { return false })
		}
		time.Sleep(time.Minute)
		cancel()
		group.Wait()
		at := map[time.Duration]bool{}
		for i, is := range all {
			if len(is.keeps) < int(time.Minute/every)-1 {
				t.Errorf("session %d was renewed %d times", i, len(is.keeps))
			}
			last := began
			for _, sent := range is.keeps {
				if sent.Sub(last) > every {
					t.Errorf("session %d was renewed %v after the last time", i, sent.Sub(last))
				}
				if last = sent; at[sent.Sub(began)] {
					t.Errorf("two were renewed after %v", sent.Sub(began))
				}
				at[sent.Sub(began)] = true
			}
		}
		if late := k.Counts().Late; late != 0 {
			t.Errorf("%d were late", late)
		}
	})
}

// TestUnrenewed: a session that is renewed again after a long time was not renewed in between.
func TestUnrenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := New(Options{Most: 1, TTL: 4 * time.Second, Every: time.Second, Renewed: func(time.Time, time.Duration) {}, Lost: func(time.Time) {}})
		began := time.Now()
		s := &Session{Is: &script{took: 500 * time.Millisecond}, Sent: began}
		for _, pause := range []time.Duration{time.Second, 5 * time.Second, time.Second} { // sent after 1, 6.5 and 8 s
			time.Sleep(pause)
			if err := k.Renew(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		for at, want := range map[time.Duration]time.Duration{
			2 * time.Second: time.Second, 6900 * time.Millisecond: 5900 * time.Millisecond, // in the gap from 1 to 7 s
			7500 * time.Millisecond: -500 * time.Millisecond, 500 * time.Millisecond: -7500 * time.Millisecond, // before the last renewal, in no gap
			10 * time.Second: 2 * time.Second,
		} {
			if got := s.Unrenewed(began.Add(at)); got != want {
				t.Errorf("after %v not renewed for %v, want %v", at, got, want)
			}
		}
	})
}
