package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/generators"
	"github.com/coreos/dbtester/control/judge"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
)

// issuer issues the steps of a load: the engine of this process, or generators on other
// machines.
type issuer interface {
	// step issues one step on connections that it opens and closes, and calls begin when the
	// step begins. The result is complete up to the error, which is that of
	// [load.Engine.Step].
	step(ctx context.Context, s load.Step, begin func()) (load.StepResult, error)
	// end returns what was counted over all steps, after the last one.
	end() (issued, error)
}

// issued is what was counted over all steps of a load.
type issued struct {
	totals results.Totals
	// surely and perhaps bound the keys that were created, as [load.Recorder.Created] does.
	// uncounted is why they do not; "" if they do.
	surely, perhaps int64
	uncounted       string
	// Those of the process that issued the load; nil if there were several.
	lag, lateness *results.Spread
	stops         *results.Stops
}

// engine issues the load from this process.
type engine struct {
	loader *loader
	engine *load.Engine
	rec    *load.Recorder
}

func newEngine(l *loader, spec load.Spec, out load.Sink) *engine {
	rec := load.NewRecorder(out, spec.Operations(), l.reportProgress)
	return &engine{loader: l, engine: load.NewEngine(spec, rec), rec: rec}
}

func (e *engine) step(ctx context.Context, s load.Step, begin func()) (load.StepResult, error) {
	d := e.loader.dialer
	conns, to, err := d.dial(ctx, s.Connections)
	if err != nil {
		return load.StepResult{}, err
	}
	e.loader.announce(s)
	s.Dial, s.Reconnect = to.Single, d.reconnect(to)
	begin()
	res, err := e.engine.Step(ctx, s, conns)
	return res, errors.Join(err, database.CloseAll(conns))
}

func (e *engine) end() (issued, error) {
	c := issued{totals: e.rec.Totals(), lag: spread(e.rec.SchedulingLag()), lateness: spread(e.rec.Lateness())}
	c.surely, c.perhaps = e.rec.Created()
	stops := e.rec.Stops()
	c.stops = &stops
	return c, nil
}

// generated issues the load by the run's generators.
type generated struct {
	run    *run
	dialer *dialer
	set    *generators.Set
	// announce is called for each step.
	announce func(load.Step)
	// selfCheck asks the generators for one.
	selfCheck bool
}

// newGenerated returns the generators of a run before they are connected to, nil if it
// has none.
func newGenerated(o Options, r *run, agents *fleet.Fleet, d *dialer) *generated {
	addrs := r.experiment.GeneratorAgents()
	if len(addrs) == 0 || !r.db.Steps.Load {
		return nil
	}
	g := &generated{run: r, dialer: d, selfCheck: o.Mirror != nil, announce: func(load.Step) {}}
	g.set = generators.New(generators.Options{
		Connect: o.ConnectGenerator, Addrs: addrs, RunID: agents.RunID(), Owner: o.Owner, Version: o.Tool.Version, Lead: o.GeneratorLead, Dir: r.dir,
		LostMembers: func() (lost []int) {
			for member, why := range r.losses.Reasons() {
				if why != "" {
					lost = append(lost, member)
				}
			}
			return lost
		},
		LoseMember: func(member int, why string) {
			agents.Beat(context.Background(), member) // its agent may know how it ended
			r.losses.Add(member, why)
		},
		Event: func(e results.Event) {
			r.journal.record(e)
			if e.Kind == results.EventGeneratorLost {
				r.journal.say("generator %s", e.Text)
			}
		},
	})
	return g
}

// errNoGenerators refuses an experiment with generators where none can be reached.
var errNoGenerators = errors.New("generators must be agents on machines of their own, but with --local this program runs all agents itself")

// prepare reserves the generators for the load.
func (g *generated) prepare(ctx context.Context, spec load.Spec) error {
	r := g.run
	r.journal.step("prepare %d generators", len(r.experiment.Generators))
	tls, err := clientTLS(r.db.TLS)
	if err != nil {
		return err
	}
	auth, err := clientAuth(r.db.Auth)
	if err != nil {
		return err
	}
	target := r.target
	target.TLS, target.Auth = nil, nil
	err = g.set.Prepare(ctx, generators.Job{
		Database: r.db.Name, Options: r.db.OptionsYAML, Spec: spec, Target: target, TLS: tls, Auth: auth,
		Sample: r.experiment.Sample, SelfCheck: g.selfCheck,
	})
	r.record.Generators = g.set.Records()
	return err
}

// clientTLS names the files of TLS by absolute paths; nil for plaintext.
func clientTLS(t *config.TLS) (*dbtesterpb.ClientTLS, error) {
	if t == nil {
		return nil, nil
	}
	ca, errCA := absolute(t.CA)
	cert, errCert := absolute(t.Cert)
	key, errKey := absolute(t.Key)
	return &dbtesterpb.ClientTLS{Ca: ca, Cert: cert, Key: key}, errors.Join(errCA, errCert, errKey)
}

// clientAuth names the place of a password; nil without credentials.
func clientAuth(a *config.Auth) (*dbtesterpb.ClientAuth, error) {
	if a == nil {
		return nil, nil
	}
	file, err := absolute(a.PasswordFile)
	return &dbtesterpb.ClientAuth{User: a.User, PasswordFile: file, PasswordEnv: a.PasswordEnv}, err
}

// absolute leaves "" as it is.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// preload writes n keys before the load.
func (g *generated) preload(ctx context.Context, n int64, clients, connections, perRequest int) error {
	members, err := g.dialer.targets()
	if err != nil {
		return err
	}
	return g.set.Preload(ctx, generators.Preload{Clients: clients, Connections: connections, PerRequest: perRequest, Members: members}, g.run.sayTenths(n))
}

func (g *generated) step(ctx context.Context, s load.Step, begin func()) (load.StepResult, error) {
	res, err := g.set.Step(ctx, s, g.dialer.targets, func() {
		g.announce(s)
		begin()
	})
	g.run.record.Generators = g.set.Records()
	return res, err
}

func (g *generated) end() (issued, error) {
	counts, err := g.set.End()
	g.run.record.Generators = g.set.Records()
	c := issued{totals: counts.Totals, surely: counts.Surely, perhaps: counts.Perhaps}
	for n, lost := range counts.Lost {
		if lost != nil {
			c.uncounted = fmt.Sprintf("generator %s was lost, so the last keys it wrote are not known", g.run.record.Generators[n].Addr)
		}
	}
	return c, err
}

// close gives the generators back.
func (g *generated) close(ctx context.Context) error { return g.set.Close(ctx) }

// checkGenerators returns why the generators of a database would refuse its load.
func checkGenerators(ctx context.Context, o Options, db *config.Database) (err error) {
	if len(o.Experiment.Generators) == 0 || !db.Steps.Load {
		return nil
	}
	if o.ConnectGenerator == nil {
		return errNoGenerators
	}
	r, err := newRun(o.Experiment, o.Registry, db, &journal{report: func(Update) {}, log: o.Log})
	if err != nil {
		return nil // reported for the database
	}
	r.target.Prefix = prefixOf(db, r.driver, newRunID())
	o.Mirror = nil
	p := newParts(o, r, nil)
	defer func() { err = errors.Join(err, p.load.generators.close(context.WithoutCancel(ctx))) }()
	return p.load.generators.prepare(ctx, p.load.spec())
}

// generatorEvidence is what is known of each generator of a run.
func generatorEvidence(r *run) (list []judge.Generator) {
	for n, g := range r.record.Generators {
		e := judge.Generator{Name: g.Addr, Lost: g.Lost, Clock: g.Clock, ClockSet: g.ClockSet, Stops: g.Stops}
		if g.Host != nil {
			e.Host = *g.Host
		}
		if g.Totals != nil {
			e.Pending = g.Totals.Pending()
		}
		// Samples that cannot be read are no evidence; those before them are.
		e.Samples, _ = results.ReadSamples(filepath.Join(generators.Folder(r.dir, n), results.FileClient))
		if g.Clock != nil {
			for i := range e.Samples {
				e.Samples[i].UnixNano -= int64(g.Clock.Offset)
			}
		}
		for _, s := range g.Steps {
			step := judge.Step{Index: s.Index, Clients: s.Clients, OK: s.OK, Failed: s.Due - s.OK, Late: s.Late}
			for _, whole := range r.record.Steps {
				if whole.Index == s.Index {
					step.Rated = whole.Rate > 0
				}
			}
			answers := results.Latency{Count: s.OK, SumNS: s.AnswerNS}
			step.ClientOwn = clientDelay(s.ClientDelayNS, nil, nil, answers)
			step.ClientDelay = clientDelay(s.ClientDelayNS, g.SchedulingLag, g.Stops, answers)
			e.Steps = append(e.Steps, step)
			e.StepClocks = append(e.StepClocks, judge.StepClock{Index: s.Index, Error: time.Duration(s.ClockErrorNS), Moved: time.Duration(s.ClockMovedNS)})
		}
		list = append(list, e)
	}
	return list
}

// dryRunGenerators writes the generators of an experiment, and returns why they are
// refused. Whether they are free is found out by a run, before it starts anything.
func dryRunGenerators(w io.Writer, o Options, known Agents) error {
	addrs := o.Experiment.GeneratorAgents()
	if len(addrs) == 0 {
		return nil
	}
	fmt.Fprintf(w, "generators: %s, each takes every %s request, client and connection; control issues none\n", strings.Join(addrs, ", "), humanize.Ordinal(len(addrs)))
	if o.Local {
		return errNoGenerators
	}
	var errs []error
	for _, addr := range addrs {
		if known.Refuse != nil {
			if err := known.Refuse(addr); err != nil {
				errs = append(errs, fmt.Errorf("generator %s: %w", addr, err))
			}
		}
	}
	return errors.Join(errs...)
}
