package lock

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// store has a lock for each name, which passes to the next contender a known time after its
// release.
type store struct {
	// hands is that time, and trip the time for a request.
	hands, trip time.Duration
	// lottery draws the next holder, else the first who asked is next.
	lottery bool
	places  bool
	// dies is the time for which a lock stays with a holder that died.
	dies time.Duration
	// Every so many turns a lock goes to two at once, the fence stays as it was, or a request fails.
	twice, stuck, fails int
	rng                 *rand.Rand

	mu      sync.Mutex
	locks   map[string]*mutex
	turns   int
	asked   int
	opened  int
	refuses int  // contenders that cannot be opened, from the first on
	mute    bool // no request for a contender is answered
	open    map[*one]bool
}

// mutex is one lock.
type mutex struct {
	busy  bool // held, or on its way to the next holder
	wait  []*one
	fence int64
}

// one is a contender.
type one struct {
	on      *store
	lock    *mutex
	granted chan int64
	second  bool // holds a lock that another holds too
	lost    chan struct{}
	over    error // its session's
}

func newStore(hands time.Duration) *store {
	return &store{hands: hands, trip: 200 * time.Microsecond, dies: 5 * time.Second, rng: rand.New(rand.NewPCG(1, 2)), locks: map[string]*mutex{}, open: map[*one]bool{}}
}

func (s *store) Contender(ctx context.Context) (database.Contender, error) {
	if s.mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened++; s.opened <= s.refuses {
		return nil, errors.New("no room")
	}
	o := &one{on: s, granted: make(chan int64, 1), lost: make(chan struct{})}
	s.open[o] = true
	return o, nil
}

func (s *store) Close() error { return nil }

func (o *one) Acquire(ctx context.Context, name []byte, placed func()) (database.Held, error) {
	s := o.on
	time.Sleep(s.trip)
	s.mu.Lock()
	if s.asked++; s.fails > 0 && s.asked%s.fails == 0 {
		o.over = database.ErrNoSession
	}
	if o.over != nil {
		s.mu.Unlock()
		return database.Held{}, o.over
	}
	if s.locks[string(name)] == nil {
		s.locks[string(name)] = &mutex{}
	}
	o.lock = s.locks[string(name)]
	o.lock.wait = append(o.lock.wait, o)
	if !o.lock.busy {
		s.grant(o.lock)
	}
	s.mu.Unlock()
	if s.places {
		placed()
	}
	select {
	case fence := <-o.granted:
		return database.Held{At: time.Now(), Fence: fence, Lost: o.lost}, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range o.lock.wait {
		if w == o {
			o.lock.wait = append(o.lock.wait[:i], o.lock.wait[i+1:]...)
			return database.Held{}, ctx.Err()
		}
	}
	<-o.granted // meanwhile
	s.free(o)
	return database.Held{}, ctx.Err()
}

// grant gives a lock to the next contender. The store's mutex is held.
func (s *store) grant(m *mutex) {
	m.busy = len(m.wait) > 0
	if !m.busy {
		return
	}
	next := func() *one {
		i := 0
		if s.lottery {
			i = s.rng.IntN(len(m.wait))
		}
		o := m.wait[i]
		m.wait = append(m.wait[:i], m.wait[i+1:]...)
		return o
	}
	s.turns++
	if s.stuck == 0 || s.turns%s.stuck > 0 {
		m.fence++
	}
	next().granted <- m.fence
	if s.twice > 0 && s.turns%s.twice == 0 && len(m.wait) > 0 {
		m.fence++
		other := next()
		other.second = true
		other.granted <- m.fence
	}
}

// free passes a holder's lock on. The store's mutex is held.
func (s *store) free(o *one) {
	if o.second {
		o.second = false
		return
	}
	m := o.lock
	time.AfterFunc(s.hands, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.grant(m)
	})
}

func (o *one) Release(context.Context) error {
	o.on.mu.Lock()
	o.on.free(o)
	o.on.mu.Unlock()
	time.Sleep(o.on.trip)
	return nil
}

func (o *one) Abandon() {
	time.AfterFunc(o.on.dies, func() {
		o.on.mu.Lock()
		defer o.on.mu.Unlock()
		o.on.free(o)
	})
}

func (o *one) Close(context.Context) error {
	o.on.mu.Lock()
	defer o.on.mu.Unlock()
	delete(o.on.open, o)
	return nil
}
