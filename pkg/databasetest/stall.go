package databasetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

const (
	// stallDeadline and cancelAfter end requests to a member that answers nothing, and
	// againDeadline ends later requests on the same connection.
	stallDeadline = 500 * time.Millisecond
	againDeadline = 100 * time.Millisecond
	cancelAfter   = 100 * time.Millisecond
)

// stallCase: requests to a member that is up but answers nothing end at their deadline, or when
// they are cancelled, with the matching class. When the member answers again, the same clients
// work, and no write reported as failed was applied. A proxy must do the same for the server behind
// it.
func stallCase(t *testing.T, f *fixture) {
	victim := follower(t, f)
	stall(t, f, "member", victim)
	if below := below(f.Plan(victim)); len(below) > 0 {
		stall(t, f, "below the proxy", victim, below...)
	}
}

// stall pauses a member's commands, checks that all calls to clients and to the driver end in time,
// and resumes the member.
func stall(t *testing.T, f *fixture, what string, victim int, commands ...string) {
	s := &stalled{fixture: f, victim: victim, asked: f.dial(t, f.To(victim)), cancelled: f.dial(t, f.To(victim))}
	var err error
	if s.closed, err = f.driver.Dial(t.Context(), f.To(victim)); err != nil {
		t.Fatalf("dial: %v", err)
	}
	for _, c := range []database.Client{s.asked, s.cancelled, s.closed} {
		serves(t, f, c)
	}
	f.Pause(victim, commands...)
	defer f.Resume(victim)
	calls := s.calls()
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() { errs[i] = c.do(t.Context()) })
	}
	wg.Wait()
	for i, c := range calls {
		f.part(t, what+": "+c.name, func(t *testing.T) {
			if errs[i] != nil {
				t.Error(errs[i])
			}
		})
	}
	f.Resume(victim)
	f.part(t, what+": after", func(t *testing.T) {
		f.WaitReady()
		recovers(t, f, s.asked)
		serves(t, f, s.cancelled)
		s.writes.check(t, f, s.asked)
	})
}

// stalled is a paused member, and clients that connected to it before, one for each call
// that uses a client.
type stalled struct {
	*fixture
	victim                   int
	asked, cancelled, closed database.Client
	writes                   writes
}

// call must end in time. It returns the violation, if any.
type call struct {
	name string
	do   func(context.Context) error
}

func (s *stalled) calls() []call {
	calls := []call{
		{"deadline", s.deadline},
		{"cancel", s.cancel},
		{"close", s.close},
		{"dial", s.dialInTime},
		{"ready", func(ctx context.Context) error {
			err := s.within(ctx, func(ctx context.Context) error { return s.driver.Ready(ctx, s.Target(), s.victim) })
			if err == nil {
				return errors.New("a paused member is reported as ready")
			}
			return late(err)
		}},
	}
	// These may succeed through other members.
	if v, ok := s.driver.(database.Versioner); ok {
		calls = append(calls, s.asks("version", func(ctx context.Context) error {
			_, err := v.Version(ctx, s.Target(), s.victim)
			return err
		}))
	}
	if l, ok := s.driver.(database.Leader); ok {
		calls = append(calls, s.asks("leader", func(ctx context.Context) error {
			_, err := l.Leader(ctx, s.Target())
			return err
		}))
	}
	if c, ok := s.driver.(database.Counter); ok {
		calls = append(calls, s.asks("count", func(ctx context.Context) error {
			_, err := c.CountKeys(ctx, s.To(s.victim))
			return err
		}))
	}
	return calls
}

// within bounds a call by stallDeadline.
func (s *stalled) within(ctx context.Context, do func(context.Context) error) error {
	return withTimeout(ctx, stallDeadline, do)
}

func withTimeout(ctx context.Context, timeout time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return inTime(ctx, do)
}

// asks returns a call that may fail, but must end in time.
func (s *stalled) asks(name string, do func(context.Context) error) call {
	return call{name, func(ctx context.Context) error { return late(s.within(ctx, do)) }}
}

// late returns err only if it is errLate.
func late(err error) error {
	if errors.Is(err, errLate) {
		return err
	}
	return nil
}

// deadline: a write times out with an unknown outcome, because it was sent. Later requests by the
// client time out too, sent or not.
func (s *stalled) deadline(ctx context.Context) error {
	put := func(ctx context.Context) error { return s.writes.put(ctx, s.fixture, s.asked) }
	err := Sent(func(times time.Duration) error { return withTimeout(ctx, times*stallDeadline, put) })
	if err := hasClass(err, database.ClassTimeout, workload.Unknown); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	if err := hasClass(withTimeout(ctx, againDeadline, put), database.ClassTimeout, workload.Unknown, workload.Failed); err != nil {
		return fmt.Errorf("put again: %w", err)
	}
	err = withTimeout(ctx, againDeadline, func(ctx context.Context) error {
		_, err := s.asked.Get(ctx, s.key(), s.info().Reads[0])
		return err
	})
	if err := hasClass(err, database.ClassTimeout, workload.Unknown, workload.Failed); err != nil {
		return fmt.Errorf("get: %w", err)
	}
	return nil
}

// cancel: a running write ends when it is cancelled.
func (s *stalled) cancel(ctx context.Context) error {
	err := Sent(func(times time.Duration) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer time.AfterFunc(times*cancelAfter, cancel).Stop()
		return inTime(ctx, func(ctx context.Context) error { return s.writes.put(ctx, s.fixture, s.cancelled) })
	})
	return hasClass(err, database.ClassCancelled, workload.Unknown)
}

// close: a client closes although the answer to a write is still missing.
func (s *stalled) close(ctx context.Context) error {
	err := Sent(func(times time.Duration) error {
		return withTimeout(ctx, times*stallDeadline, func(ctx context.Context) error { return s.writes.put(ctx, s.fixture, s.closed) })
	})
	if err := hasClass(err, database.ClassTimeout, workload.Unknown); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	return s.within(ctx, func(context.Context) error { return s.closed.Close() })
}

// Sent repeats a request, each time with more time, while it ended before it was sent: a busy
// machine may not get that far. It returns the last error.
func Sent(request func(times time.Duration) error) (err error) {
	for times := time.Duration(1); times < 100; times *= 3 {
		err = request(times)
		if outcome, _ := database.Classify(err); outcome != workload.Failed {
			break
		}
	}
	return err
}

// dialInTime: a dial succeeds, or ends at its deadline.
func (s *stalled) dialInTime(ctx context.Context) error {
	return late(s.within(ctx, func(ctx context.Context) error {
		client, err := s.driver.Dial(ctx, s.To(s.victim))
		if err == nil {
			err = client.Close()
		}
		return err
	}))
}
