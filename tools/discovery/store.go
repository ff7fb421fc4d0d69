package main

import (
	"context"
	"time"
)

// store is a database: how its experiment names it, and how instances are watched through a member.
type store struct {
	name, lines string
	// network is how member addresses begin. No two stores share one: they may run at once.
	network string
	port    int
	follow  func(ctx context.Context, address string, saw *sight) error
}

// options are the command flags.
type options struct {
	program                   string
	deaths                    int
	notice, within, tolerance time.Duration
	only                      string
	// alive, if not 0, is how long instances are only kept alive: in all stores at once, because their
	// times are not compared.
	alive time.Duration
	// living instances neither die nor are deployed, and the load has a rate in requests per second.
	living, rate int
}

const (
	// batch limits the number of instances that die in one run: the answer from a health endpoint
	// has all instances, and if they are many, the last of many readers gets its answer long after
	// the first.
	batch = 25
	// calm is the time before the first death, and margin the load time after the last promise.
	calm, margin = 3 * time.Second, 8 * time.Second
)

// sight holds the observations by a watch through one member. It is not safe for concurrent use.
type sight struct {
	// gone is when registrations were first known to be gone.
	gone   map[registration]time.Time
	listed map[string]bool // by the last list
	why    error           // why the last watch ended
}

// registration is an instance key: each time an instance is deployed, its next generation begins.
type registration struct{ instance, generation int }
