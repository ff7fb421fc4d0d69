// Package abilities defines how abilities take part in a run: each has a half in a folder below,
// and package all lists them. Halves take part through optional interfaces in this package.
package abilities

import (
	"context"
	"errors"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/coordination/session"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// Half is the part of an ability in one run. It implements one or more of [Activity], [Describer],
// [Sender], [Bounder], [Seer], [Watcher], [WriteWatcher], [Judger], [Ender], [Betweener],
// [Completer], [Finisher], [Marker], [Seeker] and [Cutter].
type Half any

// Run gives halves the facts about the run and the functions for their reports.
type Run struct {
	Experiment *config.Experiment
	DB         *config.Database
	Driver     database.Driver
	Info       database.Info
	// Target has the addresses and credentials for clients, complete when the load begins.
	Target *database.Target
	// Agents keep the members, if the cluster has agents. Leader asks the members for the current
	// leader.
	Agents Agents
	Leader func(context.Context) (int, error)
	// Generators issue the load, if there are some, and may hold sessions during it. They are
	// prepared when an activity is. It may be nil.
	Generators Generators
	// FailBack has connections that failed over go back to their first members, while a step runs.
	FailBack func(context.Context) (load.FailedBack, error)
	// Dial opens connections like those for the load.
	Dial func(ctx context.Context, n int) ([]database.Client, error)
	// Record is the run in the manifest, and Dir its folder. Only Record, Between and Finish
	// may write to the record.
	Record *results.DatabaseRun
	Dir    string
	// Event records an event, Step reports progress, and Say prints one line. All are safe for
	// concurrent use.
	Event func(results.Event)
	Step  func(format string, args ...any)
	Say   func(format string, args ...any)
	// Reported shows metrics reported by a member about itself. Members count from 0. If Reported
	// is nil, they are not shown.
	Reported func(member int, s results.DatabaseSample)
	// Mark marks the run, as not valid if the mark weighs that much. It may be called where the
	// record may be written to.
	Mark func(code string, values mark.Values, words mark.Words)
}

// Agents calls the agents of members, which count from 0.
type Agents interface {
	// Fault applies a fault, and Heal undoes the fault with this id unless it is over or never
	// began.
	Fault(ctx context.Context, member int, req *dbtesterpb.FaultRequest) (*dbtesterpb.FaultResponse, error)
	Heal(ctx context.Context, member int, id string) (*dbtesterpb.FaultResponse, error)
}

// Generators hold sessions while they issue their parts of the load.
type Generators interface {
	// Number is 0 if this process issues the load.
	Number() int
	// GrantSessions begins sessions on each generator by its plan, with valueSize bytes in each
	// key.
	GrantSessions(ctx context.Context, plans []session.Plan, valueSize, workers int) error
	// HoldSessions lets their holders die, and returns when that is over or ctx ends.
	HoldSessions(ctx context.Context) error
	// EndSessions ends those that are left, also after ctx is over.
	EndSessions(ctx context.Context) []session.Remote
}

// ErrOver is why an activity ends without an interrupt.
var ErrOver = errors.New("the activity is over")

// Activity runs while steps do, or while the load does: heartbeats, samples, the watch for leader
// changes. A half that is one runs while requests are sent.
//
// An activity with something to do before it runs is a [Preparer], and one with something for the
// record is a [Recorder].
type Activity interface {
	// Name names the step that starts it, and prefixes its errors.
	Name() string
	// Run returns when the activity is complete, and soon after ctx ends. The cause of ctx is
	// ErrOver if the run reached the end of the activity, else the cause of the interrupt. Run must
	// not write to the run's record.
	Run(ctx context.Context) error
}

// Preparer is an activity that can fail before it runs. The goroutine for the steps calls Prepare
// once.
type Preparer interface {
	Prepare(ctx context.Context) error
}

// Recorder is an activity that adds something to the run's record. The goroutine for the steps
// calls Record once, after Run returned.
type Recorder interface{ Record() }

// Describer describes the part that a half will take, in lines of a dry run; it returns nil if the
// half will not.
type Describer interface{ Describe() []string }

// Bounder ends loads that pass a bound.
type Bounder interface {
	// Bounded reports whether there is a bound.
	Bounded() bool
	// Bound is called before the load, with the function that ends it; any goroutine may call end
	// once.
	Bound(end func(cause error))
	Seer
	// Longest bounds the time for a request after the load, 0 for any time; see [Issued].
	Longest() time.Duration
	// Passed is called once, after the load. It returns the cause that end was called with,
	// nil if it was not, and may write to the record.
	Passed() error
}

// Seer takes the progress in each second of a load, and while keys are written before it.
type Seer interface{ See(load.Progress) }

// Watcher sees every request in loads that this process issues itself.
type Watcher interface {
	// Watch is called before a load, with all its facts. It returns nil to see nothing.
	Watch(load.Spec) (load.Watch, error)
}

// WriteWatcher is a [Watcher] that needs only the writes of a load, which generators send while
// they issue it.
type WriteWatcher interface {
	// WatchWrites is [Watcher.Watch] for loads issued by generators: it sees all writes that may
	// have been applied. Their times may differ by clock errors from times in this process.
	WatchWrites(load.Spec) (load.Watch, error)
}

// Judger has generators judge the answers to their parts, where a [Watcher] judges those to loads
// that this process issues itself.
type Judger interface {
	// Judging has the settings for judging answers; nil if they are not judged.
	Judging() *dbtesterpb.Judging
}

// Ender does something between the last request and the key count.
type Ender interface {
	// End is called once. ctx is over if the load was interrupted.
	End(ctx context.Context, i Issued)
}

// Leaver may leave keys of its own behind, which the key count after the load shows.
type Leaver interface {
	// Left returns the number of keys that may be left.
	Left() int64
}

// Issued describes all requests in a load, without their records.
type Issued struct {
	// Resent counts those that clients sent again by themselves.
	Resent int64
	// Longest is the time that requests may take afterwards within the bounds for the load; one
	// that takes longer or fails is the last. 0 is no bound.
	Longest time.Duration
	// Waits describe the time that clients waited for the watch.
	Waits load.Waits
	// ClockError bounds the error of request times against the clock of this process; 0 if this
	// process issued the load.
	ClockError time.Duration
	// Judge returns reports from generators that judged something, ordered by part, and errors from
	// those that failed to; nil if this process issued the load.
	Judge func(context.Context, judging.Back) ([]judging.Report, error)
}

// Betweener does something between two steps of a [Sender].
type Betweener interface{ Between(ctx context.Context) }

// Cutter names when outcomes are not held against the load, because the half disturbed it. Cut is
// called after Finish.
type Cutter interface{ Cut() []results.Stretch }

// Finisher adds the results of a half to the record of a measured load. It computes them from files
// in the run folder.
type Finisher interface{ Finish() error }
