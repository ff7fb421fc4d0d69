package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sysmetrics"
)

// startSampling samples this process each second.
func (c *conductor) startSampling(ctx context.Context) error {
	sampler, err := sysmetrics.NewSampler(sysmetrics.Options{
		PIDs: func() []int { return []int{os.Getpid()} }, Dir: c.dir, Device: c.Device, Interface: c.Interface,
		Addr: c.run.Members[0].Addr, Clients: c.beats.clients.Load, // the interface that leads there
	})
	if err != nil {
		return err
	}
	out, err := results.NewSampleWriter(filepath.Join(c.dir, results.FileClient))
	if err != nil {
		return err
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- sampler.Run(own, out) }()
	c.endSampling = func() error {
		cancel()
		return errors.Join(<-done, out.Close())
	}
	return nil
}

func (c *conductor) stopSampling(context.Context) error {
	if c.endSampling == nil {
		return nil
	}
	if err := c.endSampling(); err != nil {
		return fmt.Errorf("sample the client: %w", err)
	}
	return nil
}

// load counts the keys, runs every step of the load, and counts the keys again.
func (c *conductor) load(ctx context.Context) error {
	// What runs is known by now: a control that is killed leaves it on record.
	if err := c.folder.WriteManifest(c.manifest); err != nil {
		return err
	}
	if err := c.preload(ctx); err != nil {
		return err
	}
	if err := c.countBefore(ctx); err != nil {
		return err
	}
	files, err := load.NewFiles(c.dir, time.Now())
	if err != nil {
		return err
	}
	spec := c.spec()
	if c.run.Keys != nil && !c.db.Steps.Start {
		// An earlier load may have created the first keys.
		spec.FirstKey = max(spec.Keys, c.run.Keys.Before)
		c.run.Load.FirstKey = spec.FirstKey
	}
	rec := load.NewRecorder(files, spec.Operations(), c.reportProgress)
	c.noteLeader()
	c.event("load start", -1, "")
	err = c.loadSteps(ctx, load.NewEngine(spec, rec))
	c.event("load end", -1, "")
	if len(c.run.Steps) > 0 {
		totals := rec.Totals()
		c.run.Totals = &totals
		c.run.SchedulingLag = spread(rec.SchedulingLag())
		c.run.Lateness = spread(rec.Lateness())
		c.countAfter(ctx, rec)
	}
	return errors.Join(err, files.Close())
}

// spread is nil where nothing was measured.
func spread(s results.Spread) *results.Spread {
	if s.N == 0 {
		return nil
	}
	return &s
}

// loadSteps runs the steps one after the other, each on new connections.
func (c *conductor) loadSteps(ctx context.Context, engine *load.Engine) error {
	profiles := c.newProfiling()
	defer profiles.end()
	for _, s := range c.plannedSteps() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		conns, members, err := c.dial(ctx, s.connections)
		if err != nil {
			return err
		}
		c.beats.setClients(s.Clients)
		c.event("client step", -1, fmt.Sprintf("%d clients, %d connections", s.Clients, s.connections))
		s.Dial = c.dialer(members)
		profiles.begin(ctx)
		res, err := engine.Step(ctx, s.Step, conns)
		c.recordStep(s, res)
		err = errors.Join(err, closeAll(conns))
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *conductor) recordStep(s plannedStep, res load.StepResult) {
	if res.Start.IsZero() {
		return
	}
	if len(c.run.Steps) == 0 {
		c.run.LoadStart = res.Start
	}
	c.run.LoadEnd = res.End
	c.run.Steps = append(c.run.Steps, results.Step{
		Index: s.Index, Clients: s.Clients, Connections: s.connections, Requests: s.Requests, Duration: s.Duration, Rate: s.Rate, RateEnd: s.RateEnd,
		Start: res.Start, End: res.End, IssueEnd: res.IssueEnd, InsideNS: int64(res.Inside),
	})
}

// preload writes the keys that operations on existing keys need.
func (c *conductor) preload(ctx context.Context) error {
	spec := c.spec()
	n := spec.Keys
	if spec.SameKey {
		n = 1
	}
	if n == 0 || !c.does(append(readers, database.OpUpdate, database.OpDelete)...) {
		return nil
	}
	c.say("write %d keys before the load", n)
	most := c.plannedSteps()[0]
	for _, s := range c.plannedSteps() {
		if s.Clients > most.Clients {
			most = s
		}
	}
	conns, _, err := c.dial(ctx, min(most.connections, int(min(n, 1<<20))))
	if err != nil {
		return err
	}
	if err := errors.Join(load.Preload(ctx, spec, most.Clients, conns, nil), closeAll(conns)); err != nil {
		return err
	}
	return c.awaitKeys(ctx, spec, most.Clients)
}

func (c *conductor) reportProgress(p load.Progress) {
	u := Update{Trial: c.number, Trials: c.manifest.Trials, Tag: c.db.Tag, Load: &p}
	for _, s := range c.plannedSteps() {
		u.Total += s.Requests
		u.Duration += s.Duration
	}
	c.Report(u)
}
