// Package service registers service instances, has consumers follow which instances there are, lets
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
	// Dial opens connection n: the instances share connection 0, and each follower has its own.
	Dial  func(ctx context.Context, n int) (database.Sessions, error)
	Facts database.SessionFacts
	Plan  discovery.Plan
	// Seed decides which instances die and are deployed, and when.
	Seed uint64
	// ValueSize is the size of the values, in bytes.
	ValueSize int
	// Keys are all key names, which no other run has.
	Keys keeper.Keys
	// Workers is the number of concurrent requests for sessions.
	Workers int
	// Seen records observations under the names in package discovery. It is safe for concurrent
	// use.
	Seen func(name string, at time.Time, number int64)
}

// Service has the instances and consumers of a run. Its methods are called one after the other:
// Register, Follow, Run, End, Outcome.
type Service struct {
	Options
	on        database.Sessions
	consumers []*consumer
	watching  tasks // the consumers'
	keeper    *keeper.Keeper
	keeping   tasks // the keeper's
	clock     clock.Clock
	stops     *stops.Stops
	elections elections

	// news wakes the barrier when a consumer knows the marker, or has ended.
	news   chan struct{}
	marker *registration // the barrier's instance

	took  time.Duration // for all registrations
	began time.Time
	acts  []*act

	mu      sync.Mutex // guards the following fields
	all     map[name]*registration
	why     error // why a registration or an election first failed
	reports reports
	end     ending
}

// reports describes the reports to all consumers. Delayed ones were read after this process had
// stopped, for at most stopped.
type reports struct {
	told    int64
	delayed int
	stopped time.Duration
}

// ending describes how the service ended: left sessions could not be ended, the first because of
// why. Behind is why consumers may not have received everything.
type ending struct {
	left        int
	why, behind error
}

// name identifies a registration: each deploy makes the next generation of an instance.
type name struct{ instance, generation int }

// act records the times of an act, and its error.
type act struct {
	discovery.Act
	before *registration
	sent   time.Time // when it died, or just before the release was sent
	// again is, for deploys, just before the new key was requested.
	again time.Time
	after *registration
	term  int // the term of the leader that died
	err   error
}

// markerName returns the name for the instance that is registered after the load.
func (s *Service) markerName() name { return name{instance: s.Plan.Instances} }

// leader returns the instance number in leader key names. The key that only one can have uses the
// next number.
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
	last int64 // when it last received a change, for the watch goroutine
}

// heard records when consumers received a change, in nanoseconds on the clock.
type heard struct {
	at    []int64 // by consumer, 0 if it did not
	n     int
	first int64
	// resolution is the longest time between the last look without the change and the first with it.
	resolution time.Duration
}

// term is the time of one leader, which follows that of the previous one. Service's lock guards it.
type term struct {
	by *registration
	// elected is when its session had the key that only one can have.
	elected time.Time
	// came and gone record when the leader's own key, which names the term, appeared and vanished.
	came, gone *heard
}

// elections has the contenders and the terms.
type elections struct {
	contenders []*contender
	tasks      tasks         // the contenders'
	elected    chan struct{} // has something when a leader was elected
	terms      []*term       // under Service's lock
}

// contender is an instance that leads if no other does. It follows leader keys.
type contender struct {
	follower
	is   *registration
	free chan struct{} // has something when the last leader is gone

	mu     sync.Mutex
	leader int // the term that it knows, or -1
}

// follower watches keys over its own connection.
type follower struct {
	of        *Service
	conn      int    // the connection number
	who, what string // in errors: the follower, and the followed key
	on        database.Sessions
	ready     chan struct{} // closed once it misses nothing
	over      chan struct{} // closed when it has stopped watching
	err       error         // why it stopped before its end; set before over is closed
}

// registration is the session of an instance, with its key.
type registration struct {
	name
	keeper.Session
	// begun is before its session was requested.
	begun time.Time

	// ended is, under Mu, when the instance died, or when its release was sent; zero while it
	// lives. dead distinguishes the two.
	ended time.Time
	dead  bool

	// came and gone are under Service's lock, nil before the first consumer received them.
	came, gone *heard
}
