package abilities

import (
	"context"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
)

// Sender sends the requests itself, instead of in the steps from the file. It describes them if it
// is a [Describer].
type Sender interface {
	// Sends reports whether it does so in this run. The other methods are called only then.
	Sends() bool
	// Open returns the sink for all requests. It is called once, before Send.
	Open() (Sink, error)
	// Send sends all requests. It may write to the record.
	Send(context.Context, Sending) error
}

// Sink receives the records of a load.
type Sink interface {
	load.MemberSink
	Close() error
}

// Sending gives a [Sender] connections and steps.
type Sending interface {
	// Trial counts from 1.
	Trial() int
	// Step sends a step on the connections of the previous one. Activities last until ctx ends.
	// until ends only this step.
	Step(ctx, until context.Context, step load.Step) (load.StepResult, error)
	// Between has abilities act between two steps.
	Between(ctx context.Context)
	// Restart drops the counts from the steps until now.
	Restart() error
	// Record makes this step the subject of the run records.
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

// Completer completes its own records with those from members, however the load ended.
type Completer interface{ Complete() error }
