package abilities

import (
	"context"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
)

// Sender sends a load's requests itself, instead of in the file's steps. It describes them if it is
// a [Describer].
type Sender interface {
	// Sends reports whether it does so in this run. The other methods are called only then.
	Sends() bool
	// Open returns the sink for all requests. It is called once, before Send.
	Open() (Sink, error)
	// Send sends all requests. It may write to the record.
	Send(context.Context, Sending) error
}

// Sink receives a load's records.
type Sink interface {
	load.MemberSink
	Close() error
}

// Sending gives a [Sender] a load's connections and steps.
type Sending interface {
	// Trial counts from 1.
	Trial() int
	// Step sends a step on the previous step's connections. The load's activities last until ctx
	// ends. until ends only this step.
	Step(ctx, until context.Context, step load.Step) (load.StepResult, error)
	// Between has abilities act between two steps.
	Between(ctx context.Context)
	// Restart drops the counts from the steps until now.
	Restart() error
	// Record has the run's records be about a step.
	Record(load.Step, load.StepResult)
}

// Seeker has a load sent to find something.
type Seeker interface {
	// Found reports whether it did. Failures in the recorded step are then a result.
	Found() bool
	// Unfound is called after the run was judged. It returns the thing that was sought but not
	// found, and why; both are "" if it was found, or if nothing was sought.
	Unfound() (what, why string)
}

// Marker marks the run by its own record, after Finish.
type Marker interface{ Marks() []results.Mark }

// Completer completes its own records with the members', however the load ended.
type Completer interface{ Complete() error }
