// Package issue issues a load in parts, and makes one record from them: control has one part, the
// whole load, or generators, which are agents on other machines, have one each. All parts are
// issued and recorded the same way.
//
// The part of this process is called directly, and its step begins at once. Generators are dialed,
// reserved and released at once. Control exchanges 16 time stamps with each, again before each
// step. For each step the generators open their connections, learn its start 2 s before it, and
// stream their seconds. The recorder on each generator numbers its seconds in control's clock by
// the offset in the first step. Later offsets move only the start of their step. pkg/load/merge
// writes a second to the run records when all parts have it.
//
// A generator is lost if its stream breaks, if it answers no heartbeats, or if it is not ready at a
// start. The others complete, and the run has the mark `generator lost`. Lateness, scheduling lag,
// and the machines' processor time and stops are never merged: the manifest keeps them for each
// machine, and judge judges each as the client for its part.
package issue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/coreos/dbtester/control/fleet/claim"
	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/load/merge"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

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
	s := &Set{opts: o, decoders: loadwire.NewDecoders(runtime.GOMAXPROCS(0))}
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

// Prepare gets ready to issue a load. It connects to the generators, reserves them, and compares
// their clocks with the clock of this machine. Each gets heartbeats until Close, which the caller
// calls even after an error. Prepare is called once.
func (s *Set) Prepare(ctx context.Context, job Job) error {
	s.spec, s.base = job.Spec, time.Now()
	for _, p := range s.parts {
		if l, ok := p.issuer.(*local); ok {
			return l.prepare(job.Spec)
		}
	}
	if s.opts.Writes != nil {
		watch, err := s.opts.Writes(job.Spec)
		if err != nil {
			return err
		}
		if watch != nil {
			s.relay = newRelay(s, watch)
		}
	}
	request, err := s.request(job)
	if err != nil {
		return err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopBeats = stop
	if err := each(s.gens, func(g *generator) error { return g.Dial(ctx, s.opts.Connect) }); err != nil {
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
			return fmt.Errorf("generator %s: compare clocks: %w", g.Addr, err)
		}
		return nil
	})
}

// claim reserves the generators, the one with the lowest address first and then the others at once:
// of two controls that want the same generators, one gets all. Each reserved generator gets
// heartbeats until beating ends.
func (s *Set) claim(ctx, beating context.Context, request *pb.PrepareRequest) error {
	return claim.All(ctx, remote.ByAddress(s.gens), func(g *generator) error {
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

// request returns the request for all generators, without the part.
func (s *Set) request(job Job) (*pb.PrepareRequest, error) {
	data, err := json.Marshal(job.Spec.Load)
	if err != nil {
		return nil, fmt.Errorf("encode the load for generators: %w", err)
	}
	return &pb.PrepareRequest{
		RunId: s.opts.RunID, Owner: s.opts.Owner, Version: s.opts.Version, Database: job.Database, Tag: job.Tag, Options: job.Options,
		Load: data, Seed: job.Spec.Seed, FirstKey: job.Spec.FirstKey, Parts: int32(len(s.gens)),
		Endpoints: job.Target.Endpoints, Prefix: job.Target.Prefix, MaxBytes: int64(job.Target.MaxBytes),
		Tls: job.TLS, Auth: job.Auth, Reserved: job.Reserved, SamplePeriodNs: int64(job.Sample), Judging: job.Judging,
		Writes: s.relay != nil,
	}, nil
}

// Begin declares the sink for the records. progress, if not nil, is called once a second.
func (s *Set) Begin(out load.MemberSink, progress func(load.Progress)) error {
	ops := s.spec.Operations()
	s.counts = newCounter(out, ops, progress)
	for _, p := range s.parts {
		if l, ok := p.issuer.(*local); ok {
			s.counts.meter = nil // the recorder of the part knows best when a second begins
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

// merge starts new records with the next step.
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

// unwritten returns why records were not written, unless a call returned it before.
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

// names returns the address of each part, or "control" without generators.
func (o Options) names() []string {
	if len(o.Addrs) == 0 {
		return []string{"control"}
	}
	return o.Addrs
}

// Restart removes earlier steps from all that [Set.End] and [Set.Records] return, except the
// created keys. The next step may have any index.
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

// End ends the load: losing a generator no longer matters. It returns the error from the records,
// unless a step returned it.
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
			errs = append(errs, fmt.Errorf("write the samples of generator %s on control's machine: %w", g.Addr, err))
		}
	}
	return c, errors.Join(errs...)
}

// Records returns the facts about each generator, ordered by part.
func (s *Set) Records() (list []results.Generator) {
	for _, g := range s.gens {
		list = append(list, g.summary())
	}
	return list
}

// Close releases the generators and closes all connections: the generator with the lowest address
// last, the others at once before it. Lost generators are released too, if they answer.
func (s *Set) Close(ctx context.Context) error {
	if s.stopBeats != nil {
		s.stopBeats()
		s.beats.Wait()
		s.stopBeats = nil
	}
	if !s.Remote() {
		return each(s.parts, func(p *part) error { return p.close(ctx) })
	}
	return claim.Back(remote.ByAddress(s.gens), func(g *generator) error { return g.part.close(ctx) })
}

// Sessions returns, after Close, the counts of sessions and locks taken by requests in all parts;
// nil without any. It compares locks held by different generators. unknown names the generators
// that did not answer Close. Their counts are missing.
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
	if all != nil && all.Locks != nil {
		s.heldAcross(all.Locks)
	}
	return all, unknown
}

// DefaultLead is the time before its start at which a step is announced. At the announcement each
// generator has its connections open, and makes its clients.
const DefaultLead = 2 * time.Second

// leadPerKey is added for each key before the first step of a transaction load, which reads the
// versions of all keys.
const leadPerKey = 200 * time.Microsecond

// start returns when the next step begins: later than any generator takes to receive the
// announcement, and at once without generators. Before the first requests, key versions are read.
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
