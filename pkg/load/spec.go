package load

import (
	"context"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/generator"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Spec is a load and the numbers it starts from. The engine takes clients,
// requests, durations, rates and ramps from steps, not from here.
type Spec struct {
	workload.Load
	// Seed makes the values, and the arrivals of a Poisson schedule.
	Seed uint64
	// FirstKey is the number of the first key that is created; less than Keys means
	// Keys.
	FirstKey int64
}

// generator returns the generator of a step's requests.
func (s Spec) generator(clients int) (*generator.Generator, error) {
	return generator.New(s.Load, s.Seed, s.FirstKey, clients)
}

// Step is one stretch of a load. The engine is given its connections; Connections
// is not used.
type Step struct {
	Index int
	workload.Step
	// Dial opens a connection for one request; read-oneshot needs it.
	Dial func(ctx context.Context) (database.Client, error)
	// Reconnect replaces connections that are lost.
	Reconnect *Reconnect
}

// StepResult is the outcome of a step besides its records.
type StepResult struct {
	// Start is before the first request, End after the last answer.
	Start, End time.Time
	// IssueEnd is when nothing new was issued any more; it ends the population.
	IssueEnd time.Time
	// Inside is the clients' time inside calls, all outcomes, clipped to [Start,
	// IssueEnd), without the time by which stops of this process delayed them.
	Inside time.Duration
	// ClientDelay is the clients' own part of the ok requests' times in the measured
	// phase: how late they sent, and the time inside calls by which stops of this process
	// delayed them.
	ClientDelay time.Duration
	// Waiting is the clients' time without a server, clipped to the measured window.
	// Lost counts connections that were lost, Reconnects those opened in their place.
	Waiting          time.Duration
	Lost, Reconnects int64
	// VersionReads are the reads of versions that transactions of the step needed: a
	// conflict or a lost answer had made them unknown. They are no requests of the load.
	VersionReads int64
	// LargestGap is the longest time without an ok answer in the measured window; nil
	// if the step ended before its window began.
	LargestGap *results.Gap
	// Requests is the count of request numbers that the step used up: the next step's
	// keys continue after them.
	Requests int64
}
