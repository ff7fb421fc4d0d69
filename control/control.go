// Package control conducts an experiment: it has the agents start a cluster,
// applies the load, stops the cluster, brings everything home into a result
// folder, and says what must be said beside the numbers.
//
// One database of an experiment is a slice of named steps, each with its undo
// (see conduct.go). The undo of what was begun always runs, so an interrupted or
// failed run ends with its cluster stopped and its records complete up to then.
package control

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sysmetrics"
)

// Options is what a run needs. They do not change while it runs.
type Options struct {
	Experiment *config.Experiment
	Registry   *database.Registry
	// Connect dials the agent at an address. The closer is called once, when
	// control is done with that agent.
	Connect func(ctx context.Context, addr string) (dbtesterpb.AgentClient, io.Closer, error)
	// Upload copies a finished result folder to where the experiment says; nil if
	// no upload can be done.
	Upload func(ctx context.Context, dir string, to config.Upload) error
	// NoUpload leaves out an upload that the experiment asks for.
	NoUpload bool
	// Owner names this control to people: user@host pid.
	Owner string
	// Local says the agents live in this process.
	Local bool
	Tool  results.Tool
	// SelfCheck is noted in the manifest, with a mark if it is not of this machine;
	// nil if there is none.
	SelfCheck *results.SelfCheck
	// Device and Interface are sampled on the client; "" finds them.
	Device, Interface string
	// Report is told how the run goes, one update after the other; nil if nobody
	// listens. The run waits for it.
	Report func(Update)
	// ReadyTimeout bounds the wait for a quorum; 0 is [DefaultReadyTimeout].
	ReadyTimeout time.Duration
	Log          *slog.Logger
}

// DefaultReadyTimeout is how long a cluster may take until it serves.
const DefaultReadyTimeout = 90 * time.Second

// Update tells how a run goes. Exactly one of Text and Load is set.
type Update struct {
	Trial, Trials int
	Tag           string
	// Text is a step that begins or something that happened.
	Text string
	// Folder is the result folder, beside the Text that tells of it once for each
	// trial; else "".
	Folder string
	// Load is the progress of the load, once a second, of Total requests and
	// Duration in all; either may be 0.
	Load     *load.Progress
	Total    int64
	Duration time.Duration
}

// Outcome is what a run left behind.
type Outcome struct {
	// Folders are the result folders, one for each trial.
	Folders []string
	// Invalid are the marks that make a run invalid, with their tag.
	Invalid []string
}

// Run conducts all trials of all databases of an experiment, one after the
// other. A database that fails does not keep the others from running; an end of
// ctx does. The outcome is complete up to the error, which joins those of all
// databases.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Report = oneByOne(o.Report)
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = DefaultReadyTimeout
	}
	client, err := sysmetrics.HostFacts()
	if err != nil {
		o.Log.Warn("some facts of this machine can't be read", "error", err)
	}
	out := &Outcome{}
	if err := withCause(ctx, errors.Join(CheckUpload(o), Check(ctx, o))); err != nil {
		return out, err
	}
	if text := leftOut(o); text != "" {
		o.Report(Update{Text: text})
	}
	var errs []error
	for trial := 1; trial <= max(o.Experiment.Trials, 1); trial++ {
		if trial > 1 && !settle(ctx, o.Experiment.Settle) {
			errs = append(errs, context.Cause(ctx))
			break
		}
		t := &trialRun{Options: o, number: trial, out: out, client: client}
		errs = append(errs, t.run(ctx))
	}
	return out, errors.Join(errs...)
}

// oneByOne lets goroutines report in turn.
func oneByOne(report func(Update)) func(Update) {
	if report == nil {
		return func(Update) {}
	}
	var mu sync.Mutex
	return func(u Update) {
		mu.Lock()
		defer mu.Unlock()
		report(u)
	}
}

// settle waits between trials; false means ctx ended first.
func settle(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// trialRun is one pass over all databases: one result folder.
type trialRun struct {
	Options
	number   int
	out      *Outcome
	client   results.Host
	folder   *results.Folder
	manifest *results.Manifest
}

func (t *trialRun) run(ctx context.Context) (err error) {
	e := t.Experiment
	started := time.Now().UTC()
	suffix := ""
	if e.Trials > 1 {
		suffix = fmt.Sprintf("-trial-%d", t.number)
	}
	if t.folder, err = results.Create(e.Results, e.Title, started, suffix); err != nil {
		return err
	}
	t.out.Folders = append(t.out.Folders, t.folder.Dir())
	resolved, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode experiment: %w", err)
	}
	t.manifest = &results.Manifest{
		Format: results.FormatVersion, State: results.StateRunning, Title: e.Title, Description: e.Description,
		Started: started, RunID: newRunID(), Seed: e.Seed, Local: t.Local, Trial: t.number, Trials: max(e.Trials, 1),
		Tool: t.Tool, Client: t.client, SelfCheck: t.SelfCheck, Config: resolved,
		Validity: slices.Concat(judgeSelfCheck(t.SelfCheck, t.client), judgeUpload(t.Options)),
	}
	if err := t.folder.WriteManifest(t.manifest); err != nil {
		return err
	}
	t.Report(Update{Trial: t.number, Trials: t.manifest.Trials, Text: "records go to " + t.folder.Dir(), Folder: t.folder.Dir()})
	err = withCause(ctx, t.databases(ctx))
	t.manifest.State = stateOf(ctx, err)
	t.manifest.Ended = time.Now().UTC()
	err = errors.Join(err, t.folder.WriteManifest(t.manifest))
	t.collectInvalid()
	if err == nil && ctx.Err() == nil {
		err = t.upload(ctx)
	}
	return err
}

// databases runs every database, in an order that each trial rotates by one.
func (t *trialRun) databases(ctx context.Context) error {
	list := slices.Clone(t.Experiment.Databases)
	if n := len(list); n > 0 {
		first := (t.number - 1) % n
		list = append(list[first:], list[:first]...)
	}
	var errs []error
	for i := range list {
		if ctx.Err() != nil {
			break
		}
		if err := t.database(ctx, &list[i]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", list[i].Tag, err))
		}
	}
	return errors.Join(errs...)
}

// stateOf is the state of what ended with err: interrupted if err holds why ctx
// ended. What was done before ctx ended is complete.
func stateOf(ctx context.Context, err error) results.State {
	switch cause := context.Cause(ctx); {
	case err == nil:
		return results.StateComplete
	case cause != nil && errors.Is(err, cause):
		return results.StateInterrupted
	default:
		return results.StateFailed
	}
}

func (t *trialRun) collectInvalid() {
	for _, d := range t.manifest.Databases {
		for _, m := range d.Validity {
			if m.Invalid {
				t.out.Invalid = append(t.out.Invalid, fmt.Sprintf("%s: %s: %s", d.Tag, m.Code, m.Text))
			}
		}
	}
}

// newRunID returns 128 random bits in hexadecimal.
func newRunID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails (crypto/rand)
	return hex.EncodeToString(id[:])
}
