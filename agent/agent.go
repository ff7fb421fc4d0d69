// Package agent runs one database member at a time on one machine, asked over
// gRPC: it is opened for one run, started, watched, stopped and collected.
//
// An agent keeps no state outside its [Agent] value and its work directory, so several can live
// in one process.
//
// A session is idle, open, starting, running, stopping or stopped. Every verb carries the run id.
// A repeated request gets the same answer. Stop is allowed in every state. A fault can be applied
// to a member: a death that it causes does not end the session. The agent undoes a fault when its
// duration is over, before the session ends, and after a restart. An agent that hears nothing for
// its lease (15 s) stops its session by itself. An agent that restarts ends only children whose
// pid and start ticks match its record.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/files/runlog"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/process/logfile"
)

// DefaultLease is how long a session lives without a sign of its control.
const DefaultLease = tenant.DefaultLease

// Options are the inputs of an agent. They do not change after [New].
type Options struct {
	// Registry holds the databases this agent can run.
	Registry *database.Registry
	// WorkDir holds the session directories. It is made if absent and belongs to one agent at a
	// time.
	WorkDir string
	// Tools are the executables or directories that plans may use, by the names in
	// [database.Info.Tools].
	Tools map[string]string
	// Cache is the directory of releases, see [install.Installer]. Agents on one machine may
	// share it. Without a cache there are no releases.
	Cache string
	// Self is the argv that Self commands' arguments follow: this executable and
	// its verb "serve".
	Self []string
	// Lease is how long a session lives without a sign of its control;
	// 0 is [DefaultLease].
	Lease time.Duration
	// Deadlines bound the stop of a member; zero is [process.DefaultDeadlines].
	Deadlines process.Deadlines
	// Grace is how long a verb may take to answer after the end of its session or of the
	// agent; 0 is [DefaultGrace].
	Grace time.Duration
	// AllowBinary lets a Start name the executable to run.
	AllowBinary bool
	// AllowFlags lets a driver's options hold extra flags for its commands.
	AllowFlags bool
	// AllowFaults are the kinds of faults that may be applied to the member.
	AllowFaults []string
	// Disk gives each member a disk of its own, which faults may fill: "loop:SIZE", see
	// [owndisk.Size], which faults may also cut, or a directory, see [owndisk.CheckDir]. "" gives
	// no disk.
	Disk string
	// Device and Interface are sampled; "" finds the data directory's device and the member's
	// interface.
	Device, Interface string
	// LogBound bounds the kept part of the log of each command of a member; zero is
	// [logfile.DefaultBound].
	LogBound logfile.Bound
	// Log receives events that no verb caused; nil discards them. A session's file
	// [results.FileAgentLog] receives them too. If the log belongs to a [runlog.Handler], the
	// file also has what the rest of the process logs meanwhile.
	Log *slog.Logger
	// Version is the version of this program.
	Version string
	// ClientNumPath, if not "", is a file that always holds the last number of
	// clients as text.
	ClientNumPath string
}

// Agent keeps at most one session and one member. All methods are safe for
// concurrent use.
type Agent struct {
	opts     Options
	host     []byte    // this machine, as a record for messages
	bootID   string    // of this machine
	diskHold io.Closer // locks the disk that the user has mounted for the member; nil for none
	planner  *planner
	runs     *runlog.Handler // of opts.Log
	root     *os.Root        // of WorkDir; sessions write and remove files through it
	hold     *os.File        // locked while this agent owns WorkDir

	// ctx ends with Close; every session's context is a child of it.
	ctx  context.Context
	end  context.CancelCauseFunc
	wg   sync.WaitGroup // the goroutines of sessions, and installs
	done func() <-chan struct{}

	clientFile clientFile

	// mu guards the fields below, and session.now. It is never held while waiting or
	// during file operations.
	mu      sync.Mutex
	session *session // nil when idle
	last    Seen     // of the last session that was closed
	closed  bool
}

// New returns an idle agent. If its work directory holds the session of an agent that ended
// without closing it, New kills the session's children that are still alive, but only those whose
// pid and start time match the record. It keeps the session, stopped, until the next Open.
func New(opts Options) (*Agent, error) {
	opts, err := opts.filled()
	if err != nil {
		return nil, err
	}
	own, err := owndisk.Asked(opts.Disk)
	if err != nil {
		return nil, err
	}
	if _, err := process.StartTicks(os.Getpid()); err != nil {
		return nil, fmt.Errorf("agents need Linux with /proc, to identify the processes that they start: %w", err)
	}
	var runs *runlog.Handler
	opts.Log, runs = runlog.Wrap(opts.Log)
	host, err := sysmetrics.HostFacts()
	if err != nil {
		opts.Log.Warn("some facts about this machine cannot be read", "error", err)
	}
	record, err := pb.Record("this machine", host)
	if err != nil {
		return nil, err
	}
	root, hold, err := holdWorkDir(opts.WorkDir)
	if err != nil {
		return nil, err
	}
	a := &Agent{opts: opts, host: record, bootID: host.BootID, planner: &planner{opts: opts, own: own, host: host}, runs: runs, root: root, hold: hold, clientFile: clientFile{path: opts.ClientNumPath, last: -1}}
	a.ctx, a.end = context.WithCancelCause(context.Background())
	a.done = sync.OnceValue(a.waitAll)
	if err := a.recoverSession(); err != nil {
		a.end(reasonAgentClosed)
		return nil, errors.Join(fmt.Errorf("recover session: %w", err), root.Close(), hold.Close())
	}
	if err := a.holdDisk(); err != nil {
		a.end(reasonAgentClosed)
		return nil, errors.Join(err, root.Close(), hold.Close())
	}
	return a, nil
}

// filled returns the options with their defaults, or the first problem.
func (o Options) filled() (Options, error) {
	if o.Registry == nil {
		return o, errors.New("an agent needs a registry of databases")
	}
	if o.WorkDir == "" {
		return o, errors.New("an agent needs a work directory")
	}
	dir, err := filepath.Abs(o.WorkDir)
	if err != nil {
		return o, fmt.Errorf("find work directory: %w", err)
	}
	o.WorkDir = dir
	if o.Cache != "" {
		if o.Cache, err = filepath.Abs(o.Cache); err != nil {
			return o, fmt.Errorf("find cache: %w", err)
		}
	}
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Deadlines == (process.Deadlines{}) {
		o.Deadlines = process.DefaultDeadlines()
	}
	if o.LogBound == (logfile.Bound{}) {
		o.LogBound = logfile.DefaultBound()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Tools = maps.Clone(o.Tools)
	o.Self = slices.Clone(o.Self)
	return o, nil
}

// holdWorkDir makes and locks a work directory: two agents in one directory would
// kill each other's children as leftovers.
func holdWorkDir(dir string) (*os.Root, *os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("make work directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open work directory: %w", err)
	}
	hold, err := root.OpenFile(".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open lock of work directory: %w", err), root.Close())
	}
	if err := unix.Flock(int(hold.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New("another agent uses it")
		}
		return nil, nil, errors.Join(fmt.Errorf("lock work directory %q: %w", dir, err), hold.Close(), root.Close())
	}
	return root, hold, nil
}

// Register adds the agent's service to a server. Make the server with [ServerOptions], so that a
// panic in a verb fails only that call.
func (a *Agent) Register(r grpc.ServiceRegistrar) {
	pb.RegisterAgentServer(r, bounded{service: service{agent: a}})
}

// Close stops the session, waits for every goroutine of the agent, and releases the work
// directory. The session's directory stays for the next agent there. If ctx ends first, Close
// returns its error. The stop continues within its own deadlines, and Close may be called again.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.end(reasonAgentClosed)
	select {
	case <-a.done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close agent: %w", ctx.Err())
	}
}

// waitAll returns a channel that closes when every goroutine has ended and the work directory is
// released.
func (a *Agent) waitAll() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.wg.Wait()
		errs := []error{a.runs.End(), a.root.Close(), a.hold.Close()}
		if a.diskHold != nil {
			errs = append(errs, a.diskHold.Close())
		}
		if err := errors.Join(errs...); err != nil {
			a.opts.Log.Warn("close work directory", "error", err)
		}
	}()
	return done
}

// service implements the agent's verbs, in the files named after them. [bounded] is their gRPC
// interface.
type service struct {
	pb.UnimplementedAgentServer
	agent *Agent
}

var _ pb.AgentServer = service{}
