package submission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// checked is a run that may be packed.
type checked struct {
	folder   *results.Folder
	manifest *results.Manifest
	// marks are the marks on the run and its databases, invalid those that make it invalid. gaps
	// are the records that a report would lack.
	marks, invalid, gaps []string
}

// check reads a run as a report does. It fails if the run is incomplete or its request records
// contradict each other; the error names every reason.
func check(dir string) (*checked, error) {
	folder, err := results.Open(dir)
	if err != nil {
		return nil, err
	}
	c := &checked{folder: folder}
	if c.manifest, err = folder.Manifest(); err != nil {
		return nil, err
	}
	runs, err := run.FromFolder(dir)
	if err != nil {
		return nil, err
	}
	var problems []error
	if c.manifest.State != results.StateComplete {
		problems = append(problems, fmt.Errorf("the run is %s", c.manifest.State))
	}
	if len(runs) == 0 {
		problems = append(problems, errors.New("the run has no database"))
	}
	for _, r := range runs {
		problems = append(problems, c.checkRun(r)...)
	}
	for _, m := range run.MarksOfManifest(c.manifest, dir, false) {
		c.mark(m)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s cannot be submitted: %w", dir, errors.Join(problems...))
	}
	return c, nil
}

// checkRun collects the marks on one database, and returns the problems that forbid publication.
func (c *checked) checkRun(r *run.Run) (problems []error) {
	record := r.Info.Record
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %w", r.Info.Tag, fmt.Errorf(format, args...)))
	}
	if record.State != results.StateComplete {
		bad("the run is %s", record.State)
	}
	switch {
	case record.Totals == nil:
		bad("the manifest has no totals of the requests")
	case !record.Totals.Reconcile():
		bad("the totals of the manifest do not add up: %d requests were due", record.Totals.Offered)
	}
	for _, gap := range r.Gaps.List {
		if aboutRequests(gap) {
			bad("%s", gap)
		} else {
			c.gaps = append(c.gaps, r.Info.Tag+": "+gap)
		}
	}
	for _, m := range r.Marks() {
		switch m.Code {
		case mark.Gap:
		case mark.RequestsDamaged, mark.RecordsDamaged: // the digests in the archive would hide it
			bad("%s", m.Mark.Text)
		default:
			c.mark(m)
		}
	}
	return problems
}

func (c *checked) mark(m run.Mark) {
	c.marks = append(c.marks, m.String())
	if m.Invalid {
		c.invalid = append(c.invalid, m.String())
	}
}

// aboutRequests reports whether a gap concerns records from which request numbers are computed.
func aboutRequests(gap string) bool {
	return slices.ContainsFunc([]string{results.FileIntervals, results.FileProgress, results.FileMembers, results.FileMembersLatency, results.FileLatency,
		results.FileTotal, results.FileErrors, "cannot be summed up"}, func(name string) bool { return strings.Contains(gap, name) })
}
