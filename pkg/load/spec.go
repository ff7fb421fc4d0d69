package load

import (
	"context"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// Spec is what all steps of a load have in common.
type Spec struct {
	// Seed makes the values, and the arrivals of a Poisson schedule.
	Seed uint64
	// Operation is what every request does, unless there is a Mix.
	Operation database.Op
	// Mix are the operations and their weights.
	Mix []Share
	// Keys is how many keys exist before the load: operations on existing keys take
	// them by Law, and created keys are numbered after them.
	Keys int64
	Law  KeyLaw
	// Read is the read mode of reads.
	Read database.ReadMode
	// FirstKey is the number of the first key that is created; less than Keys means
	// Keys.
	FirstKey int64
	// KeySize and ValueSize are in bytes. Keys are at least as long as their number.
	// With a ValueSizeMax, sizes are uniform from ValueSize to it.
	KeySize, ValueSize, ValueSizeMax int
	// RangeLimit is how many keys a range reads at most.
	RangeLimit int
	// SameKey sends every request to one key.
	SameKey bool
	// Poisson draws exponential gaps between requests of a rate; otherwise they are
	// constant.
	Poisson bool
	// Shed drops a request that found every client busy at its due time, instead of
	// sending it late.
	Shed bool
	// Timeout is the deadline of one request from when it was sent.
	Timeout time.Duration
	// Drain is how long requests that were due are still sent after the end.
	Drain time.Duration
	// WarmUp and CoolDown are cut from the measured population at both ends of each
	// step; CoolDown needs a step with a duration.
	WarmUp, CoolDown time.Duration
}

// Step is one stretch of a load.
type Step struct {
	Index   int
	Clients int
	// Requests bounds the step if not 0, Duration too; one of them must.
	Requests int64
	Duration time.Duration
	// Rate is the due requests per second of all clients together; 0 is a closed
	// loop, in which a client sends the next request when the last one ended.
	Rate float64
	// RateEnd, if not 0, is the rate at the end of Duration: it grows or falls
	// evenly from Rate.
	RateEnd float64
	// Ramp spreads the clients' first requests evenly over so long.
	Ramp time.Duration
	// Dial opens a connection for one request; read-oneshot needs it.
	Dial func(ctx context.Context) (database.Client, error)
}

// StepResult is what a step did besides its records.
type StepResult struct {
	// Start and End bound the step: from before the first request to after the last
	// answer.
	Start, End time.Time
	// IssueEnd is when nothing new was issued any more; it ends the population.
	IssueEnd time.Time
	// Inside is the clients' time inside calls, all outcomes, clipped to [Start,
	// IssueEnd).
	Inside time.Duration
	// Requests is how many request numbers the step used up: the next step's keys
	// continue after them.
	Requests int64
}
