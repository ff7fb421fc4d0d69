package salvage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/fleet/lognotes"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/digest"
)

// Options are the inputs to [Run].
type Options struct {
	// Folder is the result folder of the run.
	Folder *results.Folder
	// Connect dials the agent at an address. The closer is called once.
	Connect func(ctx context.Context, addr string) (pb.AgentClient, io.Closer, error)
	// Report is called with progress lines, one at a time.
	Report func(text string)
}

// interrupted is the recorded error for a database whose control was lost.
const interrupted = "control was lost in the run; the records of its agents were fetched later"

// Run stops the members that still run, fetches their records into the result folder, releases the
// agents, and records an unfinished run as interrupted. Each member is fetched once: after an
// error, such as an unreachable agent, Run may be called again for the rest. It is no error if
// nothing was left.
func Run(ctx context.Context, o Options) error {
	m, err := o.Folder.Manifest()
	if err != nil {
		return err
	}
	var errs []error
	found := false
	for _, db := range m.Databases {
		dir := o.Folder.Path(db.Tag)
		note, err := Read(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found = true
		if err == nil {
			err = o.database(ctx, dir, note, m, db)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", db.Tag, err))
		}
	}
	if !found && m.State != results.StateRunning {
		o.Report(fmt.Sprintf("nothing of the run is to be fetched: it is %s", m.State))
		for _, db := range m.Databases {
			if db.State == results.StateFailed {
				o.Report(fmt.Sprintf("%s: %s", db.Tag, db.Error))
			}
		}
		return nil
	}
	if slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, errHeld) }) {
		return errors.Join(errs...)
	}
	end(&m.State, &m.Ended)
	for _, db := range m.Databases {
		end(&db.State, &db.Ended) // the database has no agents, or they were not opened yet
	}
	return errors.Join(append(errs, o.Folder.WriteManifest(m))...)
}

// end records the end of a run or database that is recorded as still running.
func end(state *results.State, ended *time.Time) bool {
	if *state != results.StateRunning {
		return false
	}
	*state, *ended = results.StateInterrupted, time.Now().UTC()
	return true
}

// database fetches the records of one database into its tag folder. Other users may have written
// the folder, so it must not lead anywhere else.
func (o Options) database(ctx context.Context, dir string, note Note, m *results.Manifest, db *results.DatabaseRun) error {
	if err := regularfile.Only(dir); err != nil {
		return err
	}
	lock, err := hold(dir)
	if err != nil {
		return err
	}
	mark := &Mark{dir: dir, lock: lock}
	agents := fleet.Resume(fleet.Options{Connect: o.Connect, Agents: note.Agents, RunID: note.RunID})
	var errs []error
	again := false // a failed fetch may be retried
	var fetched []int
	var problems []string
	for i := range note.Agents {
		if i >= len(db.Members) || len(db.Members[i].Files) > 0 {
			continue // fetched before
		}
		o.Report(fmt.Sprintf("%s: fetch the records of member %d from %s", db.Tag, i+1, note.Agents[i]))
		got, err := agents.Retrieve(ctx, i, dir)
		if err != nil {
			errs = append(errs, fmt.Errorf("member %d: %w", i+1, err))
			var gone *fleet.GoneError
			again = again || !errors.As(err, &gone)
			continue
		}
		if got.Unreleased != nil {
			errs = append(errs, fmt.Errorf("member %d: its records were fetched, but its agent was not released: %w", i+1, got.Unreleased))
		}
		fetched = append(fetched, i)
		for _, problem := range record(&db.Members[i], got) {
			problem = fmt.Sprintf("member %d: %s", i+1, problem)
			problems, errs = append(problems, problem), append(errs, errors.New(problem))
		}
	}
	errs = append(errs, o.finish(dir, db, fetched))
	if end(&db.State, &db.Ended) {
		db.Error = interrupted
	}
	for _, problem := range problems {
		db.Error = strings.TrimPrefix(db.Error+"; "+problem, "; ")
	}
	if err := o.Folder.WriteManifest(m); err != nil {
		return errors.Join(append(errs, err, mark.Close(false))...)
	}
	return errors.Join(append(errs, mark.Close(!again))...)
}

// record records the retrieved end and files of a member, and returns problems with the records on
// its agent. The end may be recorded already, with those problems.
func record(m *results.Member, got fleet.Retrieved) (problems []string) {
	m.Files = got.Files
	if len(m.Exit) > 0 {
		return nil
	}
	m.Exit, m.Error, m.Use = got.Exit, got.Error, got.Use
	if got.ApparentBytes >= 0 {
		m.Disk = &results.Disk{ApparentBytes: got.ApparentBytes, AllocatedBytes: got.AllocatedBytes}
	}
	return got.Problems
}

// collected names this command in the digests that it renews.
const collected = "control --collect"

// finish adds the fetched records to the events and the digests. Existing files keep their digests,
// so that damage to them still shows.
func (o Options) finish(dir string, db *results.DatabaseRun, fetched []int) error {
	if db.Digests == nil {
		db.Digests = &digest.Set{}
	}
	before := len(db.Digests.ByFile) > 0
	late := []string{results.FileEvents}
	if before && !db.Digests.Intact(dir, results.FileEvents) {
		late = nil
	}
	err := noteLogs(dir, db, fetched)
	if !before {
		files, unread := results.Digest(dir)
		if unread != nil {
			return errors.Join(err, unread)
		}
		db.Digests.Renew(collected, files)
		o.Report(fmt.Sprintf("%s: digests of %d files were made now: what was lost before does not show", db.Tag, len(files)))
		return err
	}
	for _, i := range fetched {
		late = append(late, db.Members[i].Files...)
	}
	if len(fetched) == 0 {
		return err
	}
	if unread := db.Digests.Amend(collected, dir, late); unread != nil {
		return errors.Join(err, unread)
	}
	if n := len(db.Digests.Changes); n > 0 {
		o.Report(fmt.Sprintf("%s: digests were renewed: %s", db.Tag, db.Digests.Changes[n-1]))
	}
	return err
}

// noteLogs adds notable log lines from fetched members to the events.
func noteLogs(dir string, db *results.DatabaseRun, fetched []int) error {
	events, err := results.NewEventWriter(filepath.Join(dir, results.FileEvents))
	if err != nil {
		return err
	}
	return errors.Join(lognotes.Write(dir, db, fetched, events), events.Close())
}
