// Package issue issues a load in parts, and makes one record of it: control has one part, the
// whole load, or generators, which are agents on other machines, have one each. All parts are
// issued and recorded the same way.
//
// A part of this process is called directly, and a step of it begins at once. Generators are
// dialed, reserved and given back at once; control exchanges 16 time stamps with each, again
// before each step. For each step they open their connections, hear of the start 2 s before
// it, and stream their seconds. A generator's recorder numbers its seconds in control's clock
// by the offset of the first step; later offsets move only the start of their step.
// pkg/load/merge writes a second to the run's records when all parts have it.
//
// A generator whose stream breaks, that answers no heartbeats, or that is not ready at a
// start is lost: the others complete, and the run has the mark `generator lost`.
// Lateness, scheduling lag, processor time and stops of the machines are never merged:
// the manifest keeps them for each, and judge looks at each as the client of its part.
package issue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/fleet/claim"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/merge"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Options are the inputs of a set. They do not change after [New].
type Options struct {
	// Local issues the whole load from this process if there are no Addrs.
	Local Local
	// Connect dials the generator of the agent at an address. The closer is called once.
	Connect func(ctx context.Context, addr string) (pb.GeneratorClient, io.Closer, error)
	// Addrs are the addresses of the agents, in the order of the parts.
	Addrs []string
	// RunID is the id of the sessions. Owner names this control to people.
	RunID, Owner string
	// Version is that of this control's program: generators of another one refuse.
	Version string
	// Lead is how long before its start a step is announced; 0 is [DefaultLead].
	Lead time.Duration
	// Ahead bounds how many seconds wait for a generator before it is lost; 0 is
	// [merge.DefaultAhead].
	Ahead int
	// Dir is the tag's folder, below which each generator's samples go to a folder of its
	// own; "" drops them.
	Dir string
	// Sample is called with each sample of a generator's machine, by one goroutine for each
	// generator; nil discards them.
	Sample func(generator int, s results.Sample)
	// LostMembers returns the members that are known to be lost; nil knows of none.
	LostMembers func() []int
	// LoseMember is called with a member that accepts no connection of a generator, and why;
	// nil makes that an error.
	LoseMember func(member int, why string)
	// Event is called with what happens to generators and to connections, by any goroutine;
	// nil discards it.
	Event func(results.Event)
}

// Job is a load to issue. A part of this process needs the Spec alone.
type Job struct {
	Database string
	// Options are the driver's, as YAML with every default filled in.
	Options []byte
	// Spec is the whole load: its Part is not used.
	Spec load.Spec
	// Target is how clients reach the members. Its TLS and Auth are not used: the files of
	// TLS and the password of Auth are read on the generators' machines.
	Target database.Target
	TLS    *pb.ClientTLS
	Auth   *pb.ClientAuth
	// Reserved are the hosts of members that control reserves at their agents.
	Reserved []string
	// Sample is the time between two samples of a machine.
	Sample time.Duration
	// Judging asks each generator to judge the answers to its part; see [Set.Judge]. Nil asks for
	// nothing.
	Judging *pb.Judging
	// SelfCheck asks each generator for what it adds to the latencies of its part.
	SelfCheck bool
}

// Set is the parts of one load. One goroutine calls its methods, in the order Prepare,
// Preload, Begin, Step for each step, perhaps with Restart between two, End and Close.
type Set struct {
	opts  Options
	parts []*part
	gens  []*generator // which issue the parts, in their order; none if this process does
	spec  load.Spec
	// base is when Prepare was called. Times are stated by it and the monotonic clock, so
	// setting this machine's wall clock moves no start.
	base time.Time

	beats     sync.WaitGroup
	stopBeats context.CancelFunc // nil unless heartbeats are sent

	stopping atomic.Bool // the load was interrupted

	// mu guards merger, over and returned.
	mu       sync.Mutex
	merger   *merge.Merger // nil before Begin
	over     bool          // the load has ended: nothing of a generator is missed any more
	returned error         // the merger's that a method returned last

	counts *counter // nil before Begin
	// previous is how many request numbers the step before used up over all parts.
	previous int64
	forget   bool // the next step is the first of new records
	// resent and waits are of all steps; see [Counts].
	resent int64
	waits  load.Waits
}

// New returns a set without connections.
func New(o Options) *Set {
	if o.Event == nil {
		o.Event = func(results.Event) {}
	}
	if o.LostMembers == nil {
		o.LostMembers = func() []int { return nil }
	}
	if o.Lead == 0 {
		o.Lead = DefaultLead
	}
	s := &Set{opts: o}
	for i, addr := range o.Addrs {
		g := newGenerator(i, addr, o.RunID)
		g.set = s
		s.gens = append(s.gens, g)
		s.parts = append(s.parts, g.part)
	}
	if len(o.Addrs) == 0 {
		s.parts = []*part{{issuer: &local{opts: o.Local}}}
	}
	return s
}

// Remote reports whether generators issue the load.
func (s *Set) Remote() bool { return len(s.gens) > 0 }

// Prepare gets ready to issue a load. It connects to the generators, reserves them, and
// compares their clocks with this machine's. Each is sent heartbeats until Close, which the
// caller calls also after an error. Prepare is called once.
func (s *Set) Prepare(ctx context.Context, job Job) error {
	s.spec, s.base = job.Spec, time.Now()
	for _, p := range s.parts {
		if l, ok := p.issuer.(*local); ok {
			return l.prepare(job.Spec)
		}
	}
	request, err := s.request(job)
	if err != nil {
		return err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopBeats = stop
	if err := each(s.gens, func(g *generator) error { return g.dial(ctx, s.opts.Connect) }); err != nil {
		return err
	}
	if err := s.claim(ctx, beating, request); err != nil {
		return err
	}
	if job.SelfCheck { // which takes its time, on all machines at once
		request.SelfCheck = true
		if err := each(s.gens, func(g *generator) error { return g.prepare(ctx, request) }); err != nil {
			return err
		}
	}
	return each(s.gens, func(g *generator) error {
		if err := s.compareClocks(ctx, g); err != nil {
			return fmt.Errorf("generator %s: compare clocks: %w", g.addr, err)
		}
		return nil
	})
}

// claim reserves the generators, the one with the lowest address first and then the others
// at once: of two controls that want the same ones, one gets them all. Each that is reserved
// is sent heartbeats until beating ends.
func (s *Set) claim(ctx, beating context.Context, request *pb.PrepareRequest) error {
	return claim.All(ctx, s.byAddress(), func(g *generator) error {
		if err := g.prepare(ctx, request); err != nil {
			return err
		}
		beating, stop := context.WithCancel(beating)
		g.stopBeat = stop
		s.beats.Go(func() { s.beat(beating, g) })
		return nil
	}, func(g *generator) error {
		g.stopBeat()
		_, err := g.giveBack(ctx)
		return err
	})
}

// request is what all generators are sent, without the part.
func (s *Set) request(job Job) (*pb.PrepareRequest, error) {
	data, err := json.Marshal(job.Spec.Load)
	if err != nil {
		return nil, fmt.Errorf("encode the load for generators: %w", err)
	}
	return &pb.PrepareRequest{
		RunId: s.opts.RunID, Owner: s.opts.Owner, Version: s.opts.Version, Database: job.Database, Options: job.Options,
		Load: data, Seed: job.Spec.Seed, FirstKey: job.Spec.FirstKey, Parts: int32(len(s.gens)),
		Endpoints: job.Target.Endpoints, Prefix: job.Target.Prefix, MaxBytes: int64(job.Target.MaxBytes),
		Tls: job.TLS, Auth: job.Auth, Reserved: job.Reserved, SamplePeriodNs: int64(job.Sample), Judging: job.Judging,
	}, nil
}

// byAddress returns the generators in the order of their addresses.
func (s *Set) byAddress() []*generator {
	return slices.SortedStableFunc(slices.Values(s.gens), func(a, b *generator) int { return fleet.CompareAgents(a.addr, b.addr) })
}

// each calls do for all of a list at once and joins every error.
func each[T any](list []T, do func(T) error) error {
	return errors.Join(claim.Each(list, do)...)
}

// Begin declares where the records of the load go. Progress, if not nil, is called once a
// second.
func (s *Set) Begin(out load.MemberSink, progress func(load.Progress)) error {
	ops := s.spec.Operations()
	s.counts = newCounter(out, ops, progress)
	for _, p := range s.parts {
		if l, ok := p.issuer.(*local); ok {
			s.counts.meter = nil // the part's own recorder knows best when a second begins
			l.part.Begin(time.Now(), progress)
		}
	}
	s.merge()
	var errs []error
	for _, p := range s.parts {
		if lost := p.lostBy(); lost != nil {
			errs = append(errs, fmt.Errorf("%s was lost before the load: %w", p, lost))
		}
	}
	return errors.Join(errs...)
}

// merge has the records of the next step begin anew.
func (s *Set) merge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.merger = merge.New(s.counts, merge.Options{
		Operations: s.spec.Operations(), Generators: s.opts.names(), Ahead: s.opts.Ahead,
		Lost: func(part int, cause error) { s.lose(s.parts[part], cause) },
	})
	for _, p := range s.parts {
		if lost := p.lostBy(); lost != nil {
			s.merger.Part(p.index).Lost(lost)
		}
	}
}

// unwritten returns why records were not written, unless it was returned before.
func (s *Set) unwritten() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.merger.Err()
	if err == s.returned {
		return nil
	}
	s.returned = err
	return err
}

// names are those of the parts.
func (o Options) names() []string {
	if len(o.Addrs) == 0 {
		return []string{"control"}
	}
	return o.Addrs
}

// Restart leaves the steps until now out of all that [Set.End] and [Set.Records] return,
// except the keys that were created. The next step may have any index.
func (s *Set) Restart() error {
	err := s.unwritten()
	s.counts.restart()
	for _, p := range s.parts {
		p.restart()
	}
	s.forget = true
	s.merge()
	return err
}

// Counts are of all steps of a load since [Set.Restart], except keys.
type Counts struct {
	Totals results.Totals
	// Surely and Perhaps bound the keys that all steps created, as [load.Recorder.Created]
	// does.
	Surely, Perhaps int64
	// Lost is why generators were lost, by part; nil for those that were not. What they did
	// after their last second is not counted.
	Lost []error
	// Own is of this process, if it issued the load; nil if generators did.
	Own *issuer.End
	// Resent and Waits are of all steps, those before [Set.Restart] too: the requests that
	// clients sent again by themselves, and the waits of clients for what watches the load.
	Resent int64
	Waits  load.Waits
}

// End ends the load: a generator that is lost from now on is missed by nobody. Its error
// is that of the records, unless a step returned it.
func (s *Set) End() (Counts, error) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	errs := []error{s.unwritten()}
	c := s.counts.end()
	c.Resent, c.Waits = s.resent, s.waits
	for _, p := range s.parts {
		own := p.ended.Totals.Minus(p.before)
		c.Totals.BytesRead += own.BytesRead
		c.Totals.Clamped += own.Clamped
		c.Lost = append(c.Lost, p.lostBy())
		if _, ok := p.issuer.(*local); ok {
			ended := p.ended // records point into it, and would keep the part and its histograms in memory
			c.Totals, c.Surely, c.Perhaps, c.Own = own, ended.CreatedSurely, ended.CreatedPerhaps, &ended
		}
	}
	for _, g := range s.gens {
		if err := g.samples.err; err != nil {
			errs = append(errs, fmt.Errorf("write the samples of generator %s on control's machine: %w", g.addr, err))
		}
	}
	return c, errors.Join(errs...)
}

// Records returns what is known of each generator, in the order of the parts.
func (s *Set) Records() (list []results.Generator) {
	for _, g := range s.gens {
		list = append(list, g.summary())
	}
	return list
}

// Close gives the generators back and closes all connections: those of all generators at
// once, and then those of the one with the lowest address. Generators that were lost are
// given back too, if they answer.
func (s *Set) Close(ctx context.Context) error {
	if s.stopBeats != nil {
		s.stopBeats()
		s.beats.Wait()
		s.stopBeats = nil
	}
	if !s.Remote() {
		return each(s.parts, func(p *part) error { return p.close(ctx) })
	}
	return claim.Back(s.byAddress(), func(g *generator) error { return g.part.close(ctx) })
}

// Sessions returns what became of the sessions and the locks that requests of all parts took, after Close; nil
// without any. Those of generators that did not answer then are not among them: unknown names
// these.
func (s *Set) Sessions() (all *results.LoadSessions, unknown []string) {
	if !s.spec.Any(workload.Op.OfSessions) && !s.spec.Any(workload.Op.Locks) {
		return nil, nil
	}
	for _, p := range s.parts {
		if p.sessions == nil {
			unknown = append(unknown, p.String())
			continue
		}
		if all == nil {
			all = &results.LoadSessions{}
		}
		all.Add(*p.sessions)
	}
	return all, unknown
}

// lose notes that a generator issues nothing more. Only the first cause counts.
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

// out is where the records of a part go.
func (s *Set) out(p *part) *merge.Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.merger.Part(p.index)
}

// living returns the parts whose generators are not lost, or an error if there is none.
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

// DefaultLead is how long before its start a step is announced. Each generator then has
// its connections open, and makes its clients.
const DefaultLead = 2 * time.Second

// leadPerKey is added before the first step of a load of transactions, for reading the
// versions of all keys.
const leadPerKey = 200 * time.Microsecond

// start is when the next step begins: later than any generator takes to hear of it, and at
// once without any. Before the first requests of a load the versions of its keys are read.
func (s *Set) start(first bool) time.Time {
	if !s.Remote() {
		return time.Now()
	}
	d := s.opts.Lead
	for _, g := range s.gens {
		d = max(d, s.opts.Lead+2*g.roundTrip())
	}
	if first && s.spec.Any(workload.Op.Guarded) {
		d += 3*time.Second + leadPerKey*time.Duration(min(s.spec.Existing(), math.MaxInt32))
	}
	return time.Now().Add(d)
}

func indexes(members []int) (list []int32) {
	for _, m := range members {
		list = append(list, int32(m))
	}
	return list
}
