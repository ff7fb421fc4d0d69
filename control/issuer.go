package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/issue"
	"github.com/coreos/dbtester/control/judge"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/results"
)

// boundedAhead is the number of seconds that a bound waits for a generator: a bound sees a second
// when all parts have sent theirs, and a generator further behind is lost.
const boundedAhead = 5

// newIssue returns the issuer of the load, before any connection: the generators in the experiment,
// or this process if it has no generators.
func newIssue(o Options, r *run, agents *fleet.Fleet, d *dialer) *issue.Set {
	ahead := 0
	if len(r.bounders()) > 0 {
		ahead = boundedAhead
	}
	return issue.New(issue.Options{
		Ahead: ahead,
		Local: issue.Local{
			Database: r.db.Name, Driver: r.driver, Locks: r.entry.Info.Locks, Dial: d.each,
			Event: func(kind string, member int, text string) { r.journal.event(kind, member, text) },
			Gone: func(members []int) bool {
				return !slices.ContainsFunc(members, func(i int) bool { return !r.losses.Has(i) })
			},
			Watch: func(spec load.Spec) (load.Watch, error) {
				return watchOf(r.halves, func(w abilities.Watcher) (load.Watch, error) { return w.Watch(spec) })
			},
		},
		Writes: func(spec load.Spec) (load.Watch, error) {
			return watchOf(r.halves, func(w abilities.WriteWatcher) (load.Watch, error) { return w.WatchWrites(spec) })
		},
		Connect: o.ConnectGenerator, Addrs: r.experiment.GeneratorAgents(), RunID: agents.RunID(), Owner: o.Owner, Version: o.Tool.Version, Lead: o.GeneratorLead, Dir: r.dir,
		Sample: numbered("generator", r.sampled(o)),
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
			r.losses.Suspect(member, why)
		},
		Event: func(e results.Event) {
			r.journal.record(e)
			if e.Kind == results.EventGeneratorLost {
				r.journal.say("generator %s", e.Text)
			}
		},
	})
}

// watchOf returns one watch for all halves of the same kind that want one.
func watchOf[W any](halves []abilities.Half, of func(W) (load.Watch, error)) (load.Watch, error) {
	var all []load.Watch
	for _, half := range halves {
		w, ok := half.(W)
		if !ok {
			continue
		}
		one, err := of(w)
		if err != nil {
			return nil, err
		}
		if one != nil {
			all = append(all, one)
		}
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return all[0], nil
	}
	return func(ended []load.Ended, before int64) error {
		var errs []error
		for _, one := range all {
			errs = append(errs, one(ended, before))
		}
		return errors.Join(errs...)
	}, nil
}

// errNoGenerators refuses an experiment with generators where no generator can be reached.
var errNoGenerators = errors.New("generators must be agents on machines of their own, but with --local this program runs all agents itself")

// prepare gets ready to issue the load.
func (l *loader) prepare(ctx context.Context, spec load.Spec) error {
	r := l.run
	if l.issue.Remote() {
		r.journal.step("prepare %d generators", len(r.experiment.Generators))
	}
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
	err = l.issue.Prepare(ctx, issue.Job{
		Database: r.db.Name, Tag: r.db.Tag, Options: r.db.OptionsYAML, Spec: spec, Target: target, TLS: tls, Auth: auth,
		Reserved: reserved(r.db), Sample: r.experiment.Sample, SelfCheck: l.selfCheck, Judging: r.judging(),
	})
	r.record.Generators = l.issue.Records()
	return err
}

// judging returns the settings with which generators judge answers; nil without judging.
func (r *run) judging() (how *dbtesterpb.Judging) {
	for _, half := range r.halves {
		if j, ok := half.(abilities.Judger); ok && how == nil {
			how = j.Judging()
		}
	}
	return how
}

// judge has generators end their judging and read back over connections to the members that the
// load targets, except lost ones.
func (l *loader) judge(ctx context.Context, back judging.Back) ([]judging.Report, error) {
	members, err := l.dialer.targets()
	if err != nil {
		return nil, err
	}
	return l.issue.Judge(ctx, back, members)
}

// reserved returns the hosts of the members reserved at their agents.
func reserved(db *config.Database) (hosts []string) {
	if len(db.Endpoints) > 0 {
		return nil
	}
	for _, h := range db.Hosts {
		hosts = append(hosts, h.Addr)
	}
	return hosts
}

// clientTLS names the TLS files by absolute paths; nil for plaintext.
func clientTLS(t *config.TLS) (*dbtesterpb.ClientTLS, error) {
	if t == nil {
		return nil, nil
	}
	ca, errCA := absolute(t.CA)
	cert, errCert := absolute(t.Cert)
	key, errKey := absolute(t.Key)
	return &dbtesterpb.ClientTLS{Ca: ca, Cert: cert, Key: key}, errors.Join(errCA, errCert, errKey)
}

// clientAuth names where a password is; nil without credentials.
func clientAuth(a *config.Auth) (*dbtesterpb.ClientAuth, error) {
	if a == nil {
		return nil, nil
	}
	file, err := absolute(a.PasswordFile)
	return &dbtesterpb.ClientAuth{User: a.User, PasswordFile: file, PasswordEnv: a.PasswordEnv}, err
}

// absolute returns "" unchanged.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// checkGenerators returns why generators would refuse the load on db.
func checkGenerators(ctx context.Context, o Options, db *config.Database) (err error) {
	if !o.Experiment.ByGenerators() || !db.Steps.Load {
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
	defer func() { err = errors.Join(err, p.load.issue.Close(context.WithoutCancel(ctx))) }()
	return p.load.prepare(ctx, p.load.spec())
}

// ofGenerator adds the facts about the machine of g and about its part in each step.
func ofGenerator(e *judge.Client, g *results.Generator, steps []results.Step) {
	e.Lost, e.Clock, e.ClockSet = g.Lost, g.Clock, g.ClockSet
	if g.Host != nil {
		e.Host = *g.Host
	}
	if g.Totals != nil {
		e.Pending = g.Totals.Pending()
	}
	if g.Clock != nil {
		for i := range e.Samples {
			e.Samples[i].UnixNano -= int64(g.Clock.Offset)
		}
	}
	e.Steps = []judge.Step{}
	for _, s := range g.Steps {
		step := judge.Step{Index: s.Index, Clients: s.Clients, OK: s.OK, Failed: s.Due - s.OK, Late: s.Late}
		for _, whole := range steps {
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
}

// dryRunGenerators writes the generators in an experiment and returns why they are refused. Only a
// run finds out whether they are free, before it starts anything.
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
