package generator

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
	holding "github.com/coreos/dbtester/pkg/coordination/session"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/exposition"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
)

// Options configure a generator. They do not change after [New].
type Options struct {
	// Registry holds the databases this generator can be a client for.
	Registry *database.Registry
	// Allowed lets loads be issued; without it every verb is refused.
	Allowed bool
	// Targets are the addresses it may connect to. Secrets are what it may read.
	Targets Targets
	Secrets Secrets
	// Lease is the time a session lives without a verb from its run; 0 is [DefaultLease].
	Lease time.Duration
	// Version is the version of this program. Runs with another version are refused.
	Version string
	// Mirror is the command line for dbtester selfcheck mirror; without it there are no
	// self-checks.
	Mirror []string
	// Device and Interface are sampled; "" finds the interface that leads to the first member, and
	// the device for temporary files.
	Device, Interface string
	// Machine describes this machine, as a record in messages, and reports whether a database's member has a session
	// on its agent; nil means that neither is known.
	Machine func() (host []byte, member bool)
	// Shown keeps the counts of the last load for [Server.Seen].
	Shown bool
	// Log receives events no verb caused; nil discards them.
	Log *slog.Logger

	// wall returns what this machine's wall clock reads at a time. Tests set it; nil returns the
	// time.
	wall func(time.Time) time.Time
}

// Server keeps at most one session. All methods are safe for concurrent use.
type Server struct {
	opts Options

	// ctx ends with Close; the contexts of sessions are its children.
	ctx context.Context
	end context.CancelCauseFunc
	wg  sync.WaitGroup // for session goroutines

	// mu guards the fields below, and session.now. It is never held while waiting.
	mu      sync.Mutex
	session *session // nil while the generator is free
	closed  bool
	shown   *shown // the last load; nil before, and unless [Options.Shown]
}

// service implements the generator verbs, in the files named after them.
type service struct {
	pb.UnimplementedGeneratorServer
	server *Server
}

// session is one part of one load. Its own goroutine, live, ends it.
type session struct {
	tenant.Tenant // server.mu guards Alive
	server        *Server
	log           *slog.Logger
	clock         sessionClock

	// ctx ends when the session is to end. issuing, its child, ends when nothing more is to be
	// issued. Their causes are the reasons.
	ctx     context.Context
	end     context.CancelCauseFunc
	issuing context.Context
	stop    context.CancelCauseFunc
	work    sync.WaitGroup // verbs that use resources freed at the end
	gone    chan struct{}  // closed once everything is freed
	lost    atomic.Pointer[[]int32]

	// part, issuer, judging, sampler and lines are set before any verb but Prepare is accepted.
	// One verb at a time uses the issuer and the fields after it.
	part    *part
	issuer  *issuer.Issuer
	judging *judging.Load // nil unless answers are judged, and after Judge
	sampler *sysmetrics.Sampler
	lines   *results.SampleLines
	shown   *shown // nil unless the server shows loads
	records records
	held    held
	// ended counts the outcomes of the sessions of the load, nil if it had none, once gone is
	// closed.
	ended *results.LoadSessions
	out   atomic.Pointer[outbox[pb.RunResponse]] // for the last step
	ahead time.Duration                          // the lead of the session clock over the clock of the records

	now sessionState
}

// sessionState is the part of a session that changes, guarded by server.mu.
type sessionState struct {
	state pb.LoadState
	busy  string // the verb that uses the session, verbPrepare at first; "" if it is unused
	// stopStep ends the running step; nil without one.
	stopStep context.CancelCauseFunc
}

// held are the sessions that are held beside the load. The zero value holds nothing.
type held struct {
	mu     sync.Mutex // a verb has it
	on     database.Sessions
	holder *holding.Holder
	seen   *observation.Recorder
}

// records is the recorder's sink. It sends the records as messages.
type records struct {
	encoder loadwire.Encoder
	out     *outbox[pb.RunResponse] // for the current step
	shown   *shown                  // nil shows nothing
}

// shown is a part of a load, for [Server.Seen]. Its session writes it, and it outlives the session.
type shown struct {
	run, tag string
	part     int
	load     *exposition.Part
	sample   atomic.Pointer[results.Sample]
}

// samples keeps the newest sample it writes.
type samples struct {
	*results.SampleLines
	shown *shown
}

// Seen is what a generator shows to those who may look at it.
type Seen struct {
	State string // one of [States]
	// Load is the part of the load that is prepared, or the last one; nil before the first, and on
	// a generator that was not asked to show any.
	Load *exposition.Part
	// Run and Tag name the run and the database of the load, and Part is its number, from 0.
	Run, Tag string
	Part     int
	// Sample is the newest for this machine and process while steps of the load ran; nil before.
	Sample *results.Sample
}

// Why a session ended, or its load.
var (
	errAsked    = errors.New("control closed it")
	errReplaced = errors.New("its run prepared another load")
	errLease    = errors.New("its lease expired: control was silent")
	errLost     = errors.New("control's stream was lost")
	errNotTaken = errors.New("control did not take the records in time")
	errStopped  = errors.New("control stopped the load")
)

// errClosed ends a session because the generator is closed.
var errClosed = errors.New("the agent is closing")

// outbox receives the messages of a stream.
type outbox[M any] struct {
	session *session
	queue   chan *M
}

// end ends the sessions that are left. The lock is held, or nobody else uses them any more.
func (h *held) end(ctx context.Context) (part holding.Part, seconds []observation.Second) {
	if h.holder != nil {
		h.holder.End(ctx)
		part, seconds = h.holder.Part(), h.seen.Take(math.MaxInt64)
		h.holder = nil
	}
	if h.on != nil {
		_ = h.on.Close() // nothing is sent any more
		h.on = nil
	}
	return part, seconds
}
