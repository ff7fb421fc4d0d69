package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/control/judge"
	"github.com/coreos/dbtester/control/shared"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// trial is one pass over all databases: one result folder.
type trial struct {
	opts     Options
	number   int
	out      *Outcome
	client   results.Host
	folder   *results.Folder
	manifest *results.Manifest
	// unfound has the loads that did not find their object.
	unfound map[*results.DatabaseRun]Unfound
}

func (t *trial) run(ctx context.Context) (err error) {
	e := t.opts.Experiment
	started := time.Now().UTC()
	suffix := ""
	if e.Trials > 1 {
		suffix = fmt.Sprintf("-trial-%d", t.number)
	}
	if t.folder, err = results.Create(e.Results, e.Title, started, suffix); err != nil {
		return err
	}
	t.out.Folders = append(t.out.Folders, t.folder.Dir())
	t.unfound = map[*results.DatabaseRun]Unfound{}
	resolved, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode experiment: %w", err)
	}
	t.manifest = &results.Manifest{
		Format: results.FormatVersion, State: results.StateRunning, Title: e.Title, Description: e.Description,
		Started: started, RunID: newRunID(), Seed: e.Seed, Local: t.opts.Local, Trial: t.number, Trials: max(e.Trials, 1),
		Tool: t.opts.Tool, Client: t.client, SelfCheck: t.opts.SelfCheck, Config: resolved, Need: e.Need,
		Validity: slices.Concat(judge.SelfCheck(t.opts.SelfCheck, t.client), judgeUpload(t.opts), judgeLinks(t.opts)),
	}
	if err := t.folder.WriteManifest(t.manifest); err != nil {
		return err
	}
	t.opts.Report(Update{Trial: t.number, Trials: t.manifest.Trials, Text: "records go to " + t.folder.Dir(), Folder: t.folder.Dir()})
	err = withCause(ctx, t.databases(ctx))
	t.manifest.State = stateOf(ctx, err)
	t.manifest.Ended = time.Now().UTC()
	err = errors.Join(err, t.folder.WriteManifest(t.manifest))
	t.collectVerdicts()
	if err == nil && ctx.Err() == nil {
		err = upload(ctx, t.opts, t.folder.Dir(), func(text string) {
			t.opts.Report(Update{Trial: t.number, Trials: t.manifest.Trials, Text: text})
		})
	}
	return err
}

// databases runs every database in the order of this trial.
func (t *trial) databases(ctx context.Context) error {
	list := inTurns(t.opts.Experiment.Databases, t.number)
	var errs []error
	for i := range list {
		if ctx.Err() != nil || t.out.Guarded {
			break
		}
		if err := t.database(ctx, &list[i]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", list[i].Tag, err))
		}
	}
	return errors.Join(errs...)
}

// inTurns returns a list in the order for a trial, counted from 1. Every second trial rotates the
// order by one, and the trial after it runs the same order backwards. Each of two databases is
// first in half the trials, so their runs are pairs.
func inTurns[T any](list []T, trial int) []T {
	if len(list) == 0 {
		return nil
	}
	first := (trial - 1) / 2 % len(list)
	turned := slices.Concat(list[first:], list[:first])
	if trial%2 == 0 {
		slices.Reverse(turned)
	}
	return turned
}

// database runs one database and copies its files to the paths in the experiment.
func (t *trial) database(ctx context.Context, db *config.Database) error {
	r, err := t.newRun(rotated(db, t.number))
	if err != nil {
		return err
	}
	if r.dir, err = t.folder.MakeTag(db.Tag); err != nil {
		return err
	}
	if r.journal.text, err = openTextLog(filepath.Join(r.dir, results.FileControlLog)); err != nil {
		return err
	}
	err = t.conduct(ctx, r)
	r.journal.text.update(Update{Text: fmt.Sprintf("the run is %s", r.record.State)})
	for _, m := range r.record.Validity {
		r.journal.text.update(Update{Text: m.Code + ": " + m.Text})
	}
	if err != nil {
		r.journal.text.update(Update{Text: "error: " + err.Error()})
	}
	err = errors.Join(err, r.journal.text.close(), newExports(r).copy(r, t.manifest))
	t.compress(r)
	return errors.Join(err, t.digest(r))
}

// compress compresses the large tables of a run, after the last program that reads them here. If a
// table cannot be compressed, it stays as it is.
func (t *trial) compress(r *run) {
	files, err := results.Compress(r.dir, results.CompressFrom)
	if err != nil {
		t.opts.Report(Update{Trial: t.number, Trials: t.manifest.Trials, Tag: r.db.Tag, Text: fmt.Sprintf("some records stay uncompressed: %v", err)})
	}
	for i := range r.record.Members {
		list := r.record.Members[i].Files
		for n, file := range list {
			if slices.Contains(files, file) {
				list[n] = file + linefile.Compressed
			}
		}
	}
}

// digest records the digests of all run records, after the last was written.
func (t *trial) digest(r *run) error {
	files, err := results.Digest(r.dir)
	if err != nil {
		return err
	}
	r.record.Digests.Renew("", files)
	return t.save()
}

// conduct carries out a run and records how it ended.
func (t *trial) conduct(ctx context.Context, r *run) (err error) {
	for _, note := range newExports(r).notes {
		r.journal.say("%s", note)
	}
	t.manifest.Databases = append(t.manifest.Databases, r.record)
	if err := t.save(); err != nil {
		return err
	}
	p := newParts(t.opts, r, t.save)
	err = conduct(ctx, p.steps(), func(text string) { r.journal.step("%s", text) })
	p.forgetLoad()
	disks := p.cluster.disks // last use of p: the load's memory is garbage from here on
	if r.record.Totals != nil {
		r.record.OtherLoad = results.OtherLoads(r.dir, r.record, t.client)
	}
	err = withCause(ctx, errors.Join(err, r.derive(), r.finishAbilities(), r.completeAbilities()))
	facts, unread := evidence(r, t.client, disks)
	err = errors.Join(err, unread)
	r.record.Validity = judge.Marks(facts)
	t.unfound[r.record] = r.unfound()
	t.out.Guarded = t.out.Guarded || slices.ContainsFunc(r.record.Validity, func(m results.Mark) bool { return m.Code == mark.Guard })
	r.record.Ended = time.Now().UTC()
	r.record.State = stateOf(ctx, err)
	if err != nil {
		r.record.Error = err.Error()
	}
	return errors.Join(err, t.save())
}

// rotated returns db with its member hosts rotated by one per trial, so that no machine is always
// the first member. The order stays if the trial does not start and stop the members itself.
func rotated(db *config.Database, trial int) *config.Database {
	if len(db.Hosts) < 2 || len(db.Endpoints) > 0 || !db.Steps.Start || !db.Steps.Stop {
		return db
	}
	other := *db
	first := (trial - 1) % len(db.Hosts)
	other.Hosts = slices.Concat(db.Hosts[first:], db.Hosts[:first])
	return &other
}

// newRun returns the run of db in this trial.
func (t *trial) newRun(db *config.Database) (*run, error) {
	r, err := newRun(t.opts.Experiment, t.opts.Registry, db, &journal{
		report: t.opts.Report, happened: t.opts.Audience.Happened, log: t.opts.Log, about: Update{Trial: t.number, Trials: t.manifest.Trials, Tag: db.Tag},
	})
	if err == nil {
		r.target.Prefix = prefixOf(db, r.driver, t.manifest.RunID)
		r.claimant = shared.Claimant{Run: t.manifest.RunID, Owner: userOf(t.opts.Owner)}
	}
	return r, err
}

// userOf returns the user and the machine of an owner: claims are for all processes of the user.
func userOf(owner string) string {
	user, _, _ := strings.Cut(owner, " pid ")
	return cmp.Or(user, "unknown")
}

// save writes the manifest in its current state.
func (t *trial) save() error { return t.folder.WriteManifest(t.manifest) }

// stateOf returns the state of a run that ended with err: interrupted if err holds the cause of
// ctx. A run that was complete before ctx ended stays complete.
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

func (t *trial) collectVerdicts() {
	for _, d := range t.manifest.Databases {
		t.out.Verdicts = append(t.out.Verdicts, Verdict{
			Trial: t.number, Trials: t.manifest.Trials, Tag: d.Tag, State: d.State, Marks: d.Validity,
			Loaded: d.Totals != nil && d.Totals.Offered > 0, Unfound: t.unfound[d],
		})
		for _, m := range d.Validity {
			if m.Invalid {
				t.out.Invalid = append(t.out.Invalid, fmt.Sprintf("%s: %s: %s", d.Tag, m.Code, m.Text))
			}
		}
	}
}

// judgeLinks marks a trial whose agents accept any client: others may have changed the measured
// databases. [Check] called the agents before.
func judgeLinks(o Options) []results.Mark {
	if o.Unguarded == nil {
		return nil
	}
	addrs := o.Unguarded()
	if len(addrs) == 0 {
		return nil
	}
	return []results.Mark{results.NewMark(mark.Insecure, false, nil, mark.Words{"agents": strings.Join(addrs, ", ")})}
}
