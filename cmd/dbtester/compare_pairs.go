package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/coreos/dbtester/analyze/answers/compare"
	"github.com/coreos/dbtester/control/before/forecast"
	"github.com/coreos/dbtester/control/before/versus"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// files gives both sides their experiment files.
func (f *makeFlags) files() error {
	if f.config != "" {
		if f.a.File != "" || f.b.File != "" {
			return errors.New("--config is the file of both sides: give it, or --a and --b")
		}
		if !f.a.Given() && !f.b.Given() {
			return errors.New("--config needs a version, executable or checkout for A or B: --a-version, --a-exec, --a-source, --b-version, --b-exec or --b-source")
		}
		f.a.File, f.b.File = f.config, f.config
	}
	if f.a.File == "" || f.b.File == "" {
		return errors.New("a comparison needs both --a FILE and --b FILE, or --config FILE")
	}
	return nil
}

// session returns the plan for a comparison, without runs yet. Its clock starts with the first run,
// not with builds before it.
func (f *makeFlags) session(o compare.Options) (*compare.Session, error) {
	if f.flags.Changed("budget") {
		if f.flags.Changed("pairs") || f.flags.Changed("until") {
			return nil, errors.New("--budget plans the pairs: give it, or --pairs and --until")
		}
		if f.budget <= 0 {
			return nil, fmt.Errorf("--budget must be positive, got %v", f.budget)
		}
	}
	begun := time.Now()
	s := &compare.Session{Options: o, Pairs: f.pairs, Until: cmp.Or(f.until, f.pairs)}
	if f.budget > 0 {
		s.Until = 0
		s.Budget = compare.Budget{Time: f.budget, Elapsed: func() time.Duration { return time.Since(begun) }}
	}
	return s, s.Check()
}

// makePairs makes the runs to compare.
func (c comparison) makePairs(ctx context.Context, o compare.Options) (*compare.Report, error) {
	f := &c.flags.made
	s, err := f.session(o)
	if err == nil {
		err = f.files()
	}
	if err != nil {
		return nil, usageError{err}
	}
	if err := c.typedSides(); err != nil {
		return nil, err
	}
	if err := c.prepareSides(ctx, s); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, usageError{err}
	}
	s.Change = versus.Change(&f.a, &f.b)
	s.Say = func(text string) { fmt.Fprintf(c.progress(), "dbtester: %s\n", plaintext.Visible(text)) }
	s.Make = func(ctx context.Context, side string) (string, error) {
		if side == f.b.Name {
			return c.makeRun(ctx, &f.b, "b")
		}
		return c.makeRun(ctx, &f.a, "a")
	}
	return s.Conduct(ctx)
}

// progress returns the writer for progress messages.
func (c comparison) progress() io.Writer {
	if c.flags.made.control.quiet {
		return io.Discard
	}
	return c.app.err
}

// typedSides reads the experiment for sides that name standard input.
func (c comparison) typedSides() (err error) {
	for _, side := range []*versus.Side{&c.flags.made.a, &c.flags.made.b} {
		if side.File != stdinWord {
			continue
		}
		if side.Text, err = c.app.standardInput(); err != nil {
			return err
		}
		side.File = yamlfile.Stdin
	}
	return nil
}

// runOverhead is roughly how much longer a run takes than its load: three members start, stop and
// are collected.
const runOverhead = 5 * time.Second

// prepareSides obtains the programs for both sides, and checks their files. From the files it sets
// the load stages and the seed for A. It also sets the approximate time for a pair, unless that
// depends on the throughput.
func (c comparison) prepareSides(ctx context.Context, s *compare.Session) error {
	a, f := c.app, &c.flags.made
	cache, err := cacheDir(f.control.cache)
	if err != nil {
		return err
	}
	p := versus.Preparer{
		Registry: a.registry, Upstream: f.a.Given() || f.b.Given(),
		Capacity:  compare.Sought(s.Metrics),
		Installer: &install.Installer{Cache: cache, Progress: func(line string) { fmt.Fprintln(c.progress(), plaintext.Visible(line)) }},
	}
	var experiments []*config.Experiment
	known, pair := true, time.Duration(0)
	for _, side := range []*versus.Side{&f.a, &f.b} {
		warnings, err := p.Prepare(ctx, side)
		for _, w := range warnings {
			fmt.Fprintln(a.err, w)
		}
		if mistake := (versus.MistakeError{}); errors.As(err, &mistake) {
			return usageError{err}
		}
		if err != nil {
			return err
		}
		e, _, err := side.Read(p.Registry.All())
		if err != nil {
			return err
		}
		experiments = append(experiments, e)
		if err := f.overruled(a.registry, side, e.Databases[0].Name); err != nil {
			return usageError{err}
		}
		if f.control.results == "" { // side A decides
			f.control.results = filepath.Join(e.Results, "compare")
		}
		forecasts := forecast.All(e, f.control.machine(e))
		if err := checkFill(a.err, forecasts); err != nil {
			return err
		}
		for _, one := range forecasts {
			known = known && one.Exact
			pair += one.Length + runOverhead
		}
		s.Stages, s.Seed = max(s.Stages, stagesOf(e.Databases[0].Load)), cmp.Or(s.Seed, e.Seed)
	}
	if known {
		s.Budget.Pair = pair
	}
	if err := versus.Unlike(experiments[0], experiments[1]); err != nil {
		return usageError{err}
	}
	return nil
}

// overruled returns an error if an executable for all members would run instead of the release
// requested for side.
func (f *makeFlags) overruled(registry *database.Registry, side *versus.Side, name string) error {
	entry, err := registry.Get(name)
	if err != nil || side.Version == "" || side.Exec != "" || side.Source != "" || len(entry.Info.Tools) == 0 {
		return err
	}
	tool := entry.Info.Tools[0]
	if path := f.control.tools.values[tool]; path == nil || *path == "" {
		return nil
	}
	return fmt.Errorf("--%s-exec would run in place of %s's version %s: give one of the two", tool, side.Name, side.Version)
}

// stagesOf counts the distinct steps of l, each of which has its own numbers.
func stagesOf(l workload.Load) int {
	parts := map[workload.Step]bool{}
	for _, s := range l.Stretches() {
		parts[workload.Step{Clients: s.Clients, Rate: s.Rate, RateEnd: s.RateEnd, Down: s.Down}] = true
	}
	return len(parts)
}

// makeRun makes one run and returns its folder. A run that is not valid is no error: the
// comparison reads its marks.
func (c comparison) makeRun(ctx context.Context, side *versus.Side, folder string) (string, error) {
	f := &c.flags.made
	e, _, err := side.Read(c.app.registry.All()) // its warnings were already printed
	if err != nil {
		return "", err
	}
	e.Results = filepath.Join(f.control.results, folder)
	if f.control.link.certs != "" {
		e.AgentCerts = f.control.link.certs
	}
	out, err := c.app.conduct(ctx, e, f.control, nil)
	if invalid := (*invalidError)(nil); err != nil && !errors.As(err, &invalid) {
		return "", err
	}
	if len(out.Folders) != 1 {
		return "", fmt.Errorf("one result folder was expected, got %d", len(out.Folders))
	}
	return out.Folders[0], nil
}
