package fake

import (
	"log"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database/fake/expiry"
	"github.com/coreos/dbtester/pkg/database/fake/turns"
)

// server is one member.
type server struct {
	Options
	listen, leader, data string

	started time.Time
	store   *store // nil on a follower
	liar    liar
	leases  leases
	locks   locks
	turn    sync.Mutex // held by the request that takes its time, if requests run one after another
	logger  *log.Logger
}

// locks has the table for a leader's locks, made when the first lock is requested.
type locks struct {
	once  sync.Once
	table *turns.Table
}

// leases are a leader's sessions, made when the first one is granted.
type leases struct {
	once  sync.Once
	table *expiry.Table
}

// of returns the table of a server.
func (l *locks) of(s *server) *turns.Table {
	l.once.Do(func() {
		sessions := s.leases.of(&s.Options)
		l.table = turns.NewTable(s.turns(), func(session int64) bool { return sessions.Alive(session, time.Now()) })
	})
	return l.table
}

// of returns the table for a server of these options.
func (l *leases) of(o *Options) *expiry.Table {
	l.once.Do(func() { l.table = expiry.NewTable(o.Expiry, o.ExpireEarlyEvery, time.Now()) })
	return l.table
}

// liar counts the requests about which it may lie.
type liar struct {
	mu     sync.Mutex
	count  int
	before map[string]replaced // by key
	last   written
}

// replaced is a key's previous value, and the time at which it was replaced.
type replaced struct {
	value []byte
	at    time.Time
}

// written is a key and its value.
type written struct{ key, value []byte }
