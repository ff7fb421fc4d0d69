package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/files/runlog"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results"
)

// Agent keeps at most one session and one member. All methods are safe for
// concurrent use.
type Agent struct {
	opts     Options
	host     []byte    // this machine, as a record for messages
	bootID   string    // this machine's
	diskHold io.Closer // locks the disk the user has mounted for the member; nil if there is no such disk
	planner  *planner
	runs     *runlog.Handler // behind opts.Log
	root     *os.Root        // at WorkDir; sessions write and remove files through it
	hold     *os.File        // locked while this agent owns WorkDir

	// ctx ends with Close; the contexts of sessions are its children.
	ctx  context.Context
	end  context.CancelCauseFunc
	wg   sync.WaitGroup // for session goroutines and installs
	done func() <-chan struct{}

	clientFile clientFile

	// mu guards the fields below, and session.now. It is never held while waiting or
	// during file operations.
	mu      sync.Mutex
	session *session // nil when idle
	last    Seen     // from the session that was closed last
	closed  bool
}

// service implements the agent verbs, in the files named after them. [bounded] is their gRPC
// interface.
type service struct {
	pb.UnimplementedAgentServer
	agent *Agent
}

// session is one member's life on this agent:
//
//	open -> starting -> running -> stopping -> stopped
//
// Its own goroutine, live, makes all these transitions; verbs ask for them, through attempts and by
// ending ctx, and wait on a channel.
type session struct {
	agent *Agent
	log   *slog.Logger

	// ctx ends when the session is to stop, its cause being the reason.
	ctx context.Context
	end context.CancelCauseFunc
	// attempts carries a Start from its verb to live. It has room for the one Start that state
	// open accepts.
	attempts chan *attempt
	// changes carries faults to apply or undo while the member runs.
	changes chan *change
	ended   chan struct{} // closed once stopped
	gone    chan struct{} // closed once this session no longer holds the agent
	// kept ends, by drop, when the session directory is to be removed.
	kept context.Context
	drop context.CancelCauseFunc
	// clients is the last client count from control, for the sampler.
	clients atomic.Int64
	// newest is the last sample of the member, nil before the first.
	newest    atomic.Pointer[results.Sample]
	recording sync.Mutex // held while session.json is written

	// now is guarded by agent.mu.
	now sessionState
}

// sessionState is the part of a session that changes.
type sessionState struct {
	tenancy
	faulted
	remains
	removing bool // Close, or the next Open, is removing the directory
	state    pb.State
	attempt  *attempt // the Start that was accepted last
	planned  *planned // the member that runs or ran; nil before
	tag      string
	dir      string   // below the work directory; "" before it is made
	files    []string // the files that Collect indexes, below dir
	spawned  []member.Child
	member   *member.Member
	group    []string // the directories of the control group
}

// tenancy is who owns a session. Its run and owner change when a detached session is taken over.
type tenancy struct {
	tenant.Tenant
	detached bool
	left     bool // the control has left: another may take over at once
	expired  bool // the lease has ended, or the control has left a stopped session: the next Open may have the agent
}

// faulted is the effect of faults on the member.
type faulted struct {
	disk   *owndisk.Disk  // the member's own, or nil
	faults []fault.Record // in request order
	down   bool           // a fault ended the member: the session goes on
	older  bool           // the member's writes until it was ready are on its own disk
}

// remains are the facts about a member that has ended.
type remains struct {
	tails    map[string]string // the last log lines from children that died by themselves, by name
	exits    map[string]string // how the children of an earlier agent ended, by name
	sizes    sizes
	use      *resources.Use // the resource use of the member, once its group is removed
	problems []string       // what could not be recorded
}

// sizes are the sizes of the data directories after the stop, in bytes; -1 if not measured.
type sizes struct{ apparent, allocated int64 }

// attempt is one Start: its request and, after done is closed, its answer.
type attempt struct {
	req  *pb.StartRequest
	done chan struct{}
	resp *pb.StartResponse
	err  error
}

// answer gives the attempt its answer. It is called once.
func (t *attempt) answer(resp *pb.StartResponse, err error) {
	t.resp, t.err = resp, err
	close(t.done)
}

// reason is why a session ended. It is the cause with which its context is cancelled: the first
// one stays.
type reason string

const (
	reasonAsked          reason = "asked"
	reasonLeaseExpired   reason = "lease expired"
	reasonChildDied      reason = "child died"
	reasonStartFailed    reason = "start failed"
	reasonAgentClosed    reason = "agent closed"
	reasonAgentRestarted reason = "agent restarted"
)

// Error makes a reason a cause.
func (r reason) Error() string { return string(r) }

// set moves the session to a state.
func (s *session) set(state pb.State) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	s.now.state = state
	if state == pb.State_STATE_STOPPED && s.now.detached {
		// A detached session lives without its control; its remains get one lease.
		s.now.Alive = time.Now()
	}
}

// over reports whether the session has stopped. agent.mu is held.
func (s *session) over() bool { return s.now.state == pb.State_STATE_STOPPED }

// problem records, once, something that could not be recorded, for the run.
func (s *session) problem(what string, err error) {
	s.log.Warn(what, "error", err)
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	if text := fmt.Sprintf("%s: %v", what, err); !slices.Contains(s.now.problems, text) {
		s.now.problems = append(s.now.problems, text)
	}
}

// reason is why the session ended, "" if it has not.
func (s *session) reason() string {
	var r reason
	if err := context.Cause(s.ctx); errors.As(err, &r) {
		return string(r)
	}
	return ""
}

// abortedStart is the answer to a Start if the session ends first.
func (s *session) abortedStart() error {
	return status.Errorf(codes.Aborted, "the session stopped while starting: %s", s.reason())
}

// setClients sets the client count from control, for the sampler and the file.
func (s *session) setClients(n int64) {
	s.clients.Store(n)
	if err := s.agent.clientFile.set(n); err != nil {
		s.log.Warn("number of clients was not written", "error", err)
	}
}

// wait waits until c closes or the call ends.
func wait(ctx context.Context, what string, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return status.Errorf(status.FromContextError(ctx.Err()).Code(), "%s: %v", what, ctx.Err())
	}
}

// life is one start of a member, from making its directory until its commands end. The session
// goroutine runs it.
type life struct {
	s *session
	p *planned
}

// change asks the session goroutine to apply a fault, or to undo the one with an id.
type change struct {
	record fault.Record
	undo   bool
	done   chan changed // has room for the one answer
}

// changed is the answer to a change.
type changed struct {
	record fault.Record
	err    error
}

// Seen is what an agent shows to those who may look at it.
type Seen struct {
	State string // one of [States]
	Down  bool   // a fault ended the member, which is to be started again
	// Run and Tag name the run and the database in the session, or in the last one, and Member its
	// number, from 0; -1 before a member is planned.
	Run, Tag string
	Member   int
	// Sample is the newest for the member and its machine, nil before the first.
	Sample *results.Sample
	// Faults are all faults of the session, in request order.
	Faults []fault.Record
}

// Names in a session directory, besides results.FileServer, the member's logs and
// results.FileAgentLog.
const (
	dirData    = "data"
	fileRecord = "session.json"
)

// logFile returns the path to the log of command in the session directory.
func logFile(command string) string { return results.DirLogs + "/" + command + ".log" }
