// Package service registers the instances of a service, has consumers follow which there are, lets
// instances die and be deployed, and judges when all consumers knew.
package service

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/coordination/keeper"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/stops"
)

// Options configure a [Service].
type Options struct {
	// Dial opens connection n: the instances share connection 0, and each follower of keys has its own.
	Dial  func(ctx context.Context, n int) (database.Sessions, error)
	Facts database.SessionFacts
	Plan  discovery.Plan
	// Seed decides which instances die and are deployed, and when.
	Seed uint64
	// ValueSize is the size of the keys' values in bytes.
	ValueSize int
	// Keys are the names of all keys, of this run alone.
	Keys keeper.Keys
	// Workers is how many requests for sessions run at the same time.
	Workers int
	// Seen records observations under the names of package discovery. It is safe for concurrent
	// use.
	Seen func(name string, at time.Time, number int64)
}

// Service has the instances and the consumers of a run. Its methods are called one after the other:
// Register, Follow, Run, End, Outcome.
type Service struct {
	Options
	on        database.Sessions
	consumers []*consumer
	watching  tasks // of the consumers
	keeper    *keeper.Keeper
	keeping   tasks // of the keeper
	clock     clock.Clock
	stops     *stops.Stops
	elections elections

	// news wakes the barrier when a consumer knows the marker, or has ended.
	news   chan struct{}
	marker *registration // the instance of the barrier

	took  time.Duration // of all registrations
	began time.Time
	acts  []*act

	mu      sync.Mutex // of the following fields
	all     map[name]*registration
	why     error // the first failure of a registration, or of an election
	reports reports
	end     ending
}

// reports describes the reports to all consumers. Delayed ones were read after a stop of this
// process, of at most stopped.
type reports struct {
	told    int64
	delayed int
	stopped time.Duration
}

// ending is how all of it ended: left sessions could not be ended, the first because of why. Behind is
// why consumers may not have received everything.
type ending struct {
	left        int
	why, behind error
}

// name identifies a registration: each deploy makes the next generation of an instance.
type name struct{ instance, generation int }

// act records the times and the error of an act.
type act struct {
	discovery.Act
	before *registration
	sent   time.Time // when it died, or just before the release was sent
	// again is just before the new key was requested, of deploys.
	again time.Time
	after *registration
	term  int // of the leader that died
	err   error
}

// markerName returns the name of the instance that is registered after the load.
func (s *Service) markerName() name { return name{instance: s.Plan.Instances} }

// leader returns the instance in the names of leaders' keys. The key that is for one alone has
// the next one.
func (s *Service) leader() int { return s.Plan.Instances + 1 }

// tell wakes the barrier, if it waits.
func (s *Service) tell() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// consumer watches all instances.
type consumer struct {
	follower
	n    int
	last int64 // when it last received a change, for the goroutine of the watch
}

// heard records when consumers received a change, in nanoseconds of the clock.
type heard struct {
	at    []int64 // by consumer, 0 for those that were not
	n     int
	first int64
	// resolution is the longest time between the last look without the change and the first with it.
	resolution time.Duration
}

// term is the time of a leader, which follows that of the leader before. All of it is under the lock of
// Service.
type term struct {
	by *registration
	// elected is when its session had the key that is for one alone.
	elected time.Time
	// came and gone record the changes of the leader's own key, which names the term.
	came, gone *heard
}

// elections has the contenders and the terms of elections.
type elections struct {
	contenders []*contender
	tasks      tasks         // of the contenders
	elected    chan struct{} // has something when a leader was elected
	terms      []*term       // under the lock of Service
}

// contender is an instance that leads if no other does. It follows the leaders' keys.
type contender struct {
	follower
	is   *registration
	free chan struct{} // has something when the last leader is gone

	mu     sync.Mutex
	leader int // the term that it knows, or -1
}

// follower watches keys over a connection of its own.
type follower struct {
	of        *Service
	conn      int    // number of the connection
	who, what string // in errors: the follower, and the followed key
	on        database.Sessions
	ready     chan struct{} // closed when it misses nothing any more
	over      chan struct{} // closed when it has stopped watching
	err       error         // why it stopped before its end; set before over is closed
}

// registration is a session of an instance, with its key.
type registration struct {
	name
	keeper.Session
	// begun is before its session was requested.
	begun time.Time

	// ended is, under Mu, when the instance died, or when its release was sent; zero while it lives. Dead is
	// which of the two.
	ended time.Time
	dead  bool

	// came and gone are under the lock of Service, nil before the first consumer received them.
	came, gone *heard
}
