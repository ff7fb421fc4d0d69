package keeper

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// RequestTimeout bounds a request for a session, but not a renewal.
const RequestTimeout = 10 * time.Second

// Session holds a session and the times of its renewals.
type Session struct {
	Is   database.Session
	Busy sync.Mutex  // during a request
	next time.Time   // for its next renewal
	due  time.Time   // when that is late
	over func() bool // reports whether renewals must end

	Mu   sync.Mutex // guards the following fields
	Sent time.Time  // when the last answered renewal, or else the grant, was sent
	// Answered is when that was, or when the last renewal without an answer was given up.
	Answered   time.Time
	Unanswered bool
	// gaps are the times in which no renewal reached a member for over half a TTL: a session that
	// can begin again, such as a Consul check, may have ended in one, and was renewed after it.
	gaps []gap
}

// gap is from when a renewal was sent until the next was answered.
type gap struct{ from, to time.Time }

// Unrenewed returns the time, up to a moment, in which no renewal had reached a member. It is below
// 0 if that is before the last renewal and not known. The caller holds Mu, or the session is no
// longer renewed.
func (s *Session) Unrenewed(at time.Time) time.Duration {
	for _, g := range s.gaps {
		if at.After(g.from) && at.Before(g.to) {
			return at.Sub(g.from)
		}
	}
	return at.Sub(s.Sent)
}

// Grant begins the session.
func (s *Session) Grant(ctx context.Context, on database.Sessions, ttl time.Duration) (err error) {
	s.Sent = time.Now()
	if s.Is, err = on.Grant(ctx, ttl); err != nil {
		return err
	}
	s.Answered = time.Now()
	return nil
}

// Discard ends a session that lacks keys, also after ctx is over. One that cannot be ended expires.
func (s *Session) Discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), RequestTimeout)
	defer cancel()
	_ = s.Is.Release(ctx)
}

// Slack returns the time by which a session may end earlier than the rule allows: members count
// TTLs with their own clocks, in milliseconds.
func Slack(ttl time.Duration) time.Duration { return 2*time.Millisecond + ttl/1000 }

// Keys names session keys by two numbers. All names begin with the same word.
type Keys string

// NewKeys returns names that no other run has.
func NewKeys() Keys { return Keys(strings.ToLower(rand.Text()[:8])) }

// Of returns a key name.
func (k Keys) Of(a, b int) string { return fmt.Sprintf("%s-%d-%d", string(k), a, b) }

// Numbers returns the numbers in a key name, and whether Keys names it.
func (k Keys) Numbers(key string) (a, b int, ok bool) {
	rest, ours := strings.CutPrefix(key, string(k)+"-")
	first, second, two := strings.Cut(rest, "-")
	a, err := strconv.Atoi(first)
	b, err2 := strconv.Atoi(second)
	return a, b, ours && two && err == nil && err2 == nil
}
