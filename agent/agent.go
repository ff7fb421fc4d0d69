// Package agent runs one database member at a time on one machine, asked over gRPC: it is opened
// for one run, started, watched, stopped and collected.
//
// An agent keeps no state outside its [Agent] value and its work directory, so several can live in
// one process.
//
// A session is idle, open, starting, running, stopping or stopped. Every verb carries the run id. A
// repeated request gets the same answer. Stop is allowed in every state. A fault can be applied to
// a member: a death it causes does not end the session. The agent undoes a fault when its duration
// is over, before the session ends, and after a restart. An agent that hears nothing for its lease
// (15 s) stops its session by itself. An agent that restarts ends only children whose pid and start
// ticks match its record.
package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/files/runlog"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/process"
)

// New returns an idle agent. If an earlier agent ended without closing its session in the work
// directory, New kills the session's children that are still alive, but only those whose pid and
// start time match the record. It keeps the session, stopped, until the next Open.
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

// Register adds the agent's service to r. Make the server with [ServerOptions], so that a panic in
// a verb fails only that call.
func (a *Agent) Register(r grpc.ServiceRegistrar) {
	pb.RegisterAgentServer(r, bounded{service: service{agent: a}})
}

// Close stops the session, waits for all the agent's goroutines, and releases the work directory.
// The session's directory stays for the next agent there. If ctx ends first, Close returns its
// error. The stop continues within its own deadlines, and Close may be called again.
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

var _ pb.AgentServer = service{}
