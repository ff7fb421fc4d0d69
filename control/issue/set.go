package issue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/control/fleet/claim"
	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/contenders/across"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/load/merge"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// Options are the inputs to a set. They do not change after [New].
type Options struct {
	// Local issues the whole load from this process if there are no Addrs.
	Local Local
	// Connect dials the generator in the agent at an address. The closer is called once.
	Connect func(ctx context.Context, addr string) (pb.GeneratorClient, io.Closer, error)
	// Addrs are the addresses of the agents, ordered by part.
	Addrs []string
	// RunID identifies the sessions. Owner names this control to people.
	RunID, Owner string
	// Version is the version of this control: generators with another version refuse.
	Version string
	// Lead is the time before its start at which a step is announced; 0 is [DefaultLead].
	Lead time.Duration
	// Ahead bounds the seconds that wait for a generator before it is lost; 0 is
	// [merge.DefaultAhead].
	Ahead int
	// Dir is the tag folder. Samples from each generator go to its own folder below it; "" drops
	// them.
	Dir string
	// Sample is called with each sample from a generator machine, by one goroutine for each
	// generator; nil discards them.
	Sample func(generator int, s results.Sample)
	// LostMembers returns the members that are known to be lost; it may be nil.
	LostMembers func() []int
	// LoseMember is called with a member that accepts no connection from a generator, and why; nil
	// makes that an error.
	LoseMember func(member int, why string)
	// Writes returns a watch for writes from generators as they arrive, or nil: the writes that may
	// have been applied, in no order, as for [load.Observer]. Writes may be nil too. Without
	// generators Local.Watch watches.
	Writes func(load.Spec) (load.Watch, error)
	// Event is called with events from generators and connections, by any goroutine; nil discards
	// them.
	Event func(results.Event)
}

// Job is a load to issue. For the part of this process only Spec is needed.
type Job struct {
	Database string
	// Tag names the database in the run. Generators show it.
	Tag string
	// Options are the driver options, as YAML with every default filled in.
	Options []byte
	// Spec is the whole load. Its Part is not used.
	Spec load.Spec
	// Target has the addresses for clients. Its TLS and Auth are not used: the generator machines
	// read the TLS files and the password in Auth.
	Target database.Target
	TLS    *pb.ClientTLS
	Auth   *pb.ClientAuth
	// Reserved are the hosts of members that control reserves at their agents.
	Reserved []string
	// Sample is the time between two samples on a machine.
	Sample time.Duration
	// Judging has each generator judge the answers to its part; see [Set.Judge]. Nil judges
	// nothing.
	Judging *pb.Judging
	// SelfCheck makes each generator measure the latency that it adds to its part.
	SelfCheck bool
}

// Set holds the parts of one load. One goroutine calls its methods, in the order Prepare, Preload,
// Begin, Step for each step, perhaps with Restart between two steps, End and Close.
type Set struct {
	opts  Options
	parts []*part
	gens  []*generator // which issue the parts, in their order; empty if this process does
	spec  load.Spec
	// base is when Prepare was called. Times are base plus the monotonic clock, so setting this
	// machine's wall clock moves no start.
	base time.Time

	beats     sync.WaitGroup
	stopBeats context.CancelFunc // nil unless heartbeats are sent

	// decoders are enough to keep the processors busy: each has 221 kB for each histogram in a
	// second, and there may be a thousand streams.
	decoders *loadwire.Decoders

	stopping atomic.Bool // the load was interrupted
	relay    *relay      // nil unless writes from generators are watched

	// mu guards merger, over and returned.
	mu       sync.Mutex
	merger   *merge.Merger // nil before Begin
	over     bool          // the load has ended: losing a generator no longer matters
	returned error         // the error from the merger last returned by a method

	counts *counter // nil before Begin
	// previous is the number of request numbers that the previous step used up in all parts.
	previous int64
	forget   bool // the next step is the first with new records
	// resent and waits count over all steps; see [Counts].
	resent int64
	waits  load.Waits
}

// generator is a machine that issues one part: the connection to its agent, and the facts about its
// clock.
type generator struct {
	*part
	remote.Session[pb.GeneratorClient]
	set      *Set
	holds    bool               // it was asked to hold sessions
	stopBeat context.CancelFunc // ends its heartbeats; nil before it is reserved
	samples  samplesFile
	held     []across.Holding // locks held by its requests, on the clock of its session
	clock    clockState       // part.mu guards it
}

// clockState holds the facts about the clock of a generator.
type clockState struct {
	all   clocks.Estimate   // from all exchanges
	since clocks.Estimate   // from the last comparison on
	set   time.Duration     // the largest change to the wall clock
	list  []clocks.Exchange // all, for a load whose parts may take the same locks
}

// relay passes writes from generators on to a watch. It is safe for concurrent use.
type relay struct {
	set        *Set
	watch      load.Watch
	operations int

	mu     sync.Mutex
	before []int64 // by part: all writes that were sent before have come
	least  int64   // that was passed on
	list   []load.Ended
}

// lose records that p issues nothing more. Only the first cause counts.
func (s *Set) lose(p *part, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !p.lose(cause) {
		return
	}
	if s.merger != nil {
		s.merger.Part(p.index).Lost(cause)
	}
	s.opts.Event(results.Event{Time: time.Now().UTC(), Kind: results.EventGeneratorLost, Member: -1, Text: fmt.Sprintf("%s: %v", p.record.Addr, cause)})
}

// out returns the sink for the records of p.
func (s *Set) out(p *part) *merge.Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.merger.Part(p.index)
}

// living returns the parts whose generators are not lost, or an error if all are lost.
func (s *Set) living() ([]*part, error) {
	var list []*part
	var errs []error
	for _, p := range s.parts {
		if lost := p.lostBy(); lost != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p, lost))
		} else {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("every generator is lost: %w", errors.Join(errs...))
	}
	return list, nil
}

func indexes(members []int) (list []int32) {
	for _, m := range members {
		list = append(list, int32(m))
	}
	return list
}

// each calls do for all elements in a list at once and joins every error.
func each[T any](list []T, do func(T) error) error {
	return errors.Join(claim.Each(list, do)...)
}

// Local has the options for processes that issue loads themselves.
type Local struct {
	// Database is the name of the database for people. Driver makes its clients.
	Database string
	Driver   database.Driver
	// Locks are the facts about locks in the database, nil without any.
	Locks *database.LockFacts
	// Dial calls open with a dialer for the living members, and again after another one was found
	// lost.
	Dial func(ctx context.Context, open func(*connect.Dialer) error) error
	// Event is called with connection events, by any goroutine.
	Event func(kind string, member int, text string)
	// Gone reports whether all the given members are lost.
	Gone func(members []int) bool
	// Watch returns a watch for every request, or nil. Watch may be nil too.
	Watch func(load.Spec) (load.Watch, error)
}
