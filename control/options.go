package control

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/coreos/dbtester/control/before/lookup"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/exposition"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Options are the inputs to [Run]. They do not change while it runs.
type Options struct {
	Experiment *config.Experiment
	Registry   *database.Registry
	// Connect dials the agent at an address. The closer is called once, when control is done with
	// that agent.
	Connect func(ctx context.Context, addr string) (dbtesterpb.AgentClient, io.Closer, error)
	// ConnectGenerator dials the generator in the agent at an address, like Connect; nil if this
	// program reaches no generators.
	ConnectGenerator func(ctx context.Context, addr string) (dbtesterpb.GeneratorClient, io.Closer, error)
	// GeneratorLead is the time before its start at which a step is announced to generators; 0 is
	// [issue.DefaultLead].
	GeneratorLead time.Duration
	// Upload copies a finished result folder to the place in the experiment and
	// reports its progress; nil if this program cannot upload.
	Upload func(ctx context.Context, dir string, to config.Upload, report func(text string)) error
	// NoUpload leaves out the upload requested in the experiment.
	NoUpload bool
	// Owner names this control to people, as USER@HOST pid PID.
	Owner string
	// Unguarded returns the addresses of agents called so far that accept any client; nil if there
	// can be no such agents. The manifest gets a mark that names them.
	Unguarded func() []string
	// Local reports whether the agents live in this process.
	Local bool
	// Tool is this program. Agents with another version are refused, unless either version is "".
	Tool results.Tool
	// Trials are the trials to run, counted from 1; nil runs those in the experiment.
	Trials []int
	// SelfCheck is recorded in the manifest, with a mark if it was made on another machine; nil if
	// there was no check.
	SelfCheck *results.SelfCheck
	// Mirror is the command line for dbtester selfcheck mirror. Before each load its heaviest step
	// is applied to that server; nil skips this.
	Mirror []string
	// FullSpeed allows loads without a rate on clusters shared with others.
	FullSpeed bool
	// AllowCommands allows experiments that have this process run programs as faults.
	AllowCommands bool
	// Device and Interface are sampled on the client; "" finds them.
	Device, Interface string
	// Report is called with the progress of the run, one update at a time; nil discards it. The run
	// waits for it.
	Report func(Update)
	// Audience looks at more than the progress.
	Audience Audience
	// Resolver looks up hosts that are DNS names; nil is the resolver of this machine. Wait is the
	// time for which their addresses may be missing.
	Resolver lookup.Resolver
	Wait     time.Duration
	// ReadyTimeout bounds the wait for a quorum; 0 is [DefaultReadyTimeout].
	ReadyTimeout time.Duration
	Log          *slog.Logger
}

// DefaultReadyTimeout is the time that a cluster may take until it serves.
const DefaultReadyTimeout = 90 * time.Second

// Update reports the progress of a run. It sets either Text or Load.
type Update struct {
	Trial, Trials int
	Tag           string
	// Text is the name of a step that begins, its progress, or an event.
	Text string
	// Step reports whether Text is about a step: the next text replaces it. An event, such as a
	// lost member, stays for readers to see.
	Step bool
	// Folder is the result folder, in the update that announces it, once in each trial; else "".
	Folder string
	// Load is the progress of the load, once a second. The whole load has Total requests and takes
	// Duration; 0 is unknown.
	Load     *load.Progress
	Total    int64
	Duration time.Duration
	// Steps are the steps of the whole load; nil for a search, which does not know them.
	Steps []workload.Step
}

// Audience receives measurements while a run lasts. Its functions are called from several
// goroutines, and must not block.
type Audience struct {
	// Sampled is called with samples from members, generators and the client while they run, about
	// once a second for each; nil requests no samples from agents.
	Sampled func(Sampled)
	// Reported is called with metrics that members without agents reported about themselves, after
	// each answer; nil discards them.
	Reported func(Reported)
	// Happened is called with each event recorded while a database runs; nil discards them.
	Happened func(Happened)
	// Counted is called when the load on a database begins, with its counts, which grow until the
	// load ends; nil counts nothing.
	Counted func(Counted)
}

// Sampled is a sample from one machine.
type Sampled struct {
	Trial int
	Tag   string
	// Machine is for example "member 1", "generator 2" or "client".
	Machine string
	Sample  results.Sample
}

// Reported has metrics that a member reported about itself.
type Reported struct {
	Trial int
	Tag   string
	// Machine is for example "member 1".
	Machine string
	Sample  results.DatabaseSample
}

// Happened is an event during the run of a database.
type Happened struct {
	Trial int
	Tag   string
	Event results.Event
}

// Counted holds the counts for the load on a database.
type Counted struct {
	Trial int
	Tag   string
	Load  *exposition.Part
}

// Outcome is the result of [Run].
type Outcome struct {
	// Folders are the result folders, one for each trial.
	Folders []string
	// Guarded reports whether a guard ended a load. No other database and no other trial runs after
	// it.
	Guarded bool
	// Invalid are the marks that make runs invalid, with their tag.
	Invalid []string
	// Verdicts judge every database begun, in the order of the run.
	Verdicts []Verdict
}

// Useless reports whether every database failed before its load, so that the result folders hold
// only the causes.
func (o *Outcome) Useless() bool {
	return !slices.ContainsFunc(o.Verdicts, func(v Verdict) bool { return v.Loaded || v.State == results.StateComplete })
}
