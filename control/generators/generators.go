// Package generators has several machines issue one load: it prepares the generators of
// their agents, has them issue each step together, and merges their records into one.
//
// Control prepares all generators in the order of their addresses, exchanges 16 time
// stamps with each, again before each step, and has them write their parts of the keys.
// For each step they open their connections, hear of the start 2 s before it, and stream
// their seconds, which pkg/load/merge writes to the run's records when all have sent
// theirs. A generator's recorder numbers its seconds in control's clock by the offset of
// the first step; later offsets move only the start of their step.
//
// A generator whose stream breaks, that answers no heartbeats, or that is not ready at a
// start is lost: the others complete, and the run has the mark `generator lost`.
// Lateness, scheduling lag, processor time and stops of the machines are never merged:
// the manifest keeps them for each, and judge looks at each as the client of its part.
package generators

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
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/merge"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Options are the inputs of a set. They do not change after [New].
type Options struct {
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
	// Dir is the tag's folder, below which each generator's samples go to a folder of its
	// own; "" drops them.
	Dir string
	// LostMembers returns the members that are known to be lost; nil knows of none.
	LostMembers func() []int
	// LoseMember is called with a member that accepts no connection of a generator, and why;
	// nil makes that an error.
	LoseMember func(member int, why string)
	// Event is called with what happens to generators and their connections, by any
	// goroutine; nil discards it.
	Event func(results.Event)
}

// Job is a load that generators issue together.
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
	// Sample is the time between two samples of a machine.
	Sample time.Duration
	// SelfCheck asks each generator for what it adds to the latencies of its part.
	SelfCheck bool
}

// Set is the generators of one load. One goroutine calls its methods, in the order
// Prepare, Preload, Begin, Step for each step, End and Close.
type Set struct {
	opts Options
	gens []*generator // in the order of the parts
	spec load.Spec

	// base is when Prepare was called. Times are stated by it and the monotonic clock, so
	// setting this machine's wall clock moves no start.
	base time.Time

	beats     sync.WaitGroup
	stopBeats context.CancelFunc // nil unless heartbeats are sent

	stopping atomic.Bool // the load was interrupted

	// mu guards merger and over.
	mu     sync.Mutex
	merger *merge.Merger // nil before Begin
	over   bool          // the load has ended: nothing of a generator is missed any more

	counts *counter // nil before Begin
	// previous is how many request numbers the step before used up over all parts.
	previous int64
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
		s.gens = append(s.gens, newGenerator(i, addr, o.RunID))
	}
	return s
}

// Prepare connects to the generators, reserves them for a load in the order of their
// addresses, and compares their clocks with this machine's. Each is sent heartbeats until
// Close, which the caller calls also after an error. Prepare is called once.
func (s *Set) Prepare(ctx context.Context, job Job) error {
	s.spec, s.base = job.Spec, time.Now()
	request, err := s.request(job)
	if err != nil {
		return err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopBeats = stop
	for _, g := range s.byAddress() {
		if err := g.connect(ctx, s.opts.Connect); err != nil {
			return err
		}
		if err := g.prepare(ctx, request); err != nil {
			return err
		}
		s.beats.Go(func() { s.beat(beating, g) })
	}
	if job.SelfCheck { // which takes its time, on all machines at once
		request.SelfCheck = true
		if err := s.each(func(g *generator) error { return g.prepare(ctx, request) }); err != nil {
			return err
		}
	}
	return s.each(func(g *generator) error {
		if err := s.compareClocks(ctx, g); err != nil {
			return fmt.Errorf("generator %s: compare clocks: %w", g.addr, err)
		}
		return nil
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
		Tls: job.TLS, Auth: job.Auth, SamplePeriodNs: int64(job.Sample),
	}, nil
}

// byAddress returns the generators in the order of their addresses: of two controls that
// want the same ones, one gets them all.
func (s *Set) byAddress() []*generator {
	return slices.SortedStableFunc(slices.Values(s.gens), func(a, b *generator) int { return fleet.CompareAgents(a.addr, b.addr) })
}

// each calls do for all generators at once and joins every error.
func (s *Set) each(do func(*generator) error) error { return each(s.gens, do) }

func each(gens []*generator, do func(*generator) error) error {
	errs := make([]error, len(gens))
	var wg sync.WaitGroup
	for i, g := range gens {
		wg.Go(func() { errs[i] = do(g) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Preload is how keys are written before a load: by clients of all parts together, over
// so many connections to some members in turn, up to PerRequest keys in a request.
type Preload struct {
	Clients, Connections, PerRequest int
	Members                          []int
}

// Preload has each generator write its part of the keys. Progress is called with the
// number of keys that all have written, by any goroutine. The first generator that fails
// or is lost ends the preload of all.
func (s *Set) Preload(ctx context.Context, p Preload, progress func(keys int64)) error {
	var mu sync.Mutex
	written := make([]int64, len(s.gens))
	request := &pb.PreloadRequest{
		RunId: s.opts.RunID, Clients: int32(p.Clients), Connections: int32(p.Connections), PerRequest: int32(p.PerRequest), Members: indexes(p.Members),
	}
	all, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := s.each(func(g *generator) error {
		err := g.preload(all, request, func(keys int64) {
			mu.Lock()
			defer mu.Unlock()
			written[g.index] = keys
			sum := int64(0)
			for _, n := range written {
				sum += n
			}
			progress(sum)
		})
		if err != nil {
			cancel(err)
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		return context.Cause(all) // the others ended because of it
	}
	return err
}

// Begin declares where the records of the load go. Progress, if not nil, is called once a
// second.
func (s *Set) Begin(out load.MemberSink, progress func(load.Progress)) error {
	ops := s.spec.Operations()
	s.counts = newCounter(out, ops, progress)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.merger = merge.New(s.counts, merge.Options{
		Operations: ops, Generators: s.opts.Addrs,
		Lost: func(part int, cause error) { s.lose(s.gens[part], cause) },
	})
	var errs []error
	for _, g := range s.gens {
		if lost := g.lostBy(); lost != nil {
			errs = append(errs, fmt.Errorf("generator %s was lost before the load: %w", g.addr, lost))
		}
	}
	return errors.Join(errs...)
}

// Counts are of all steps of a load.
type Counts struct {
	Totals results.Totals
	// Surely and Perhaps bound the keys that were created, as [load.Recorder.Created] does.
	Surely, Perhaps int64
	// Lost is why generators were lost, by part; nil for those that were not. What they did
	// after their last second is not counted.
	Lost []error
}

// End ends the load: a generator that is lost from now on is missed by nobody. Its error
// is that of the records.
func (s *Set) End() (Counts, error) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	c := s.counts.end()
	errs := []error{s.merger.Err()}
	for _, g := range s.gens {
		if err := g.samples.err; err != nil {
			errs = append(errs, fmt.Errorf("write the samples of generator %s on control's machine: %w", g.addr, err))
		}
		c.Totals.BytesRead += g.ended.Totals.BytesRead
		c.Totals.Clamped += g.ended.Totals.Clamped
		c.Lost = append(c.Lost, g.lostBy())
	}
	return c, errors.Join(errs...)
}

// Records returns what is known of each generator, in the order of the parts.
func (s *Set) Records() []results.Generator {
	list := make([]results.Generator, len(s.gens))
	for i, g := range s.gens {
		list[i] = g.summary()
	}
	return list
}

// Close gives the generators back and closes the connections. Those that were lost are
// given back too, if they answer.
func (s *Set) Close(ctx context.Context) error {
	if s.stopBeats != nil {
		s.stopBeats()
		s.beats.Wait()
		s.stopBeats = nil
	}
	return s.each(func(g *generator) error { return g.close(ctx) })
}

// lose notes that a generator issues nothing more. Only the first cause counts.
func (s *Set) lose(g *generator, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !g.lose(cause) {
		return
	}
	if s.merger != nil {
		s.merger.Part(g.index).Lost(cause)
	}
	s.opts.Event(results.Event{Time: time.Now().UTC(), Kind: results.EventGeneratorLost, Member: -1, Text: fmt.Sprintf("%s: %v", g.addr, cause)})
}

// living returns the generators that are not lost, or an error if there is none.
func (s *Set) living() ([]*generator, error) {
	var list []*generator
	var errs []error
	for _, g := range s.gens {
		if lost := g.lostBy(); lost != nil {
			errs = append(errs, fmt.Errorf("generator %s: %w", g.addr, lost))
		} else {
			list = append(list, g)
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

// start is when the next step begins: later than any generator takes to hear of it.
func (s *Set) start(first bool) time.Time {
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
