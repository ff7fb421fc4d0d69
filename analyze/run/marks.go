package run

import (
	"path/filepath"
	"slices"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Mark adds the tag of the marked run. Tag is "" for a mark on a whole result folder.
type Mark struct {
	Tag string `json:"tag,omitempty"`
	results.Mark
}

// Marks returns the marks that control recorded, followed by those found here: wrong values, a
// shared host, a rate above that of the self-check, files that differ from the records, a changed
// level, gaps.
func (r *Run) Marks() (marks []Mark) {
	for _, m := range r.Info.Record.Validity {
		marks = append(marks, Mark{r.Info.Tag, m.Told()})
	}
	for _, m := range []*results.Mark{r.Info.incompleteMark(), r.wrongValueMark(), r.sharedHostMark(), r.Info.rateMark()} {
		if m != nil {
			marks = append(marks, Mark{r.Info.Tag, *m})
		}
	}
	for _, m := range slices.Concat(r.damage, r.Unsteady) {
		marks = append(marks, Mark{r.Info.Tag, m})
	}
	for _, g := range r.Gaps.List {
		marks = append(marks, Mark{r.Info.Tag, results.NewMark(mark.Gap, false, nil, mark.Words{"what": g})})
	}
	return marks
}

// MarksOfManifest returns the marks on a whole result folder. They include the folder name if there
// are several folders.
func MarksOfManifest(m *results.Manifest, dir string, several bool) (marks []Mark) {
	for _, v := range m.Validity {
		one := Mark{Mark: v.Told()}
		if several {
			one.Tag = filepath.Base(dir)
		}
		marks = append(marks, one)
	}
	return marks
}

// IsSharedHost reports whether the mark is about a client or generator that shares a machine with a
// member or another generator.
func IsSharedHost(m results.Mark) bool { return m.Code == mark.SharedHost }

// ClientShares reports whether the client shares a machine with a member. In a run with generators,
// the generators are the client.
func (r *Run) ClientShares() bool {
	if r.Info.Record.ByGenerators() { // the mark may be about generators that share a machine with one another
		return r.sharing().clientFound()
	}
	return r.sharing().clientFound() || slices.ContainsFunc(r.Info.Record.Validity, IsSharedHost)
}

// clientFound reports whether the records show that the client shares a machine.
func (s sharing) clientFound() bool {
	return slices.ContainsFunc(s.hosts(), func(g group) bool { return g.client != "" })
}

// sharedHostMark marks a client that shares a machine, in a run that control did not finish
// judging. Otherwise it returns nil.
func (r *Run) sharedHostMark() *results.Mark {
	if !r.sharing().clientFound() || slices.ContainsFunc(r.Info.Record.Validity, IsSharedHost) {
		return nil
	}
	who := "the client"
	if r.Info.Record.ByGenerators() {
		who = "a generator"
	}
	m := results.NewMark(mark.SharedHost, false, nil, mark.Words{"who": who})
	return &m
}

// wrongValueMark marks wrong values in a run that control did not finish judging, or that a version
// judged without marking a few of them. Otherwise it returns nil.
func (r *Run) wrongValueMark() *results.Mark {
	at := slices.IndexFunc(r.Load.Errors, func(e ErrorCount) bool { return e.Class == workload.ClassWrongValue && e.Count > 0 })
	if at < 0 || slices.ContainsFunc(r.Info.Record.Validity, func(m results.Mark) bool { return m.Code == mark.WrongValue }) {
		return nil
	}
	wrong := r.Load.Errors[at].Count
	values := mark.Values{"wrong": float64(wrong)}
	if t := r.Info.Record.Totals; t != nil {
		values["answers"] = float64(t.OK + wrong)
	}
	m := results.NewMark(mark.WrongValue, true, values, nil)
	return &m
}

// String formats the mark as printed below the table.
func (m Mark) String() string {
	s := m.Code + ": " + m.Mark.Text
	if m.Invalid {
		s = "INVALID " + s
	}
	if m.Tag != "" {
		s = m.Tag + ": " + s
	}
	return s
}

// rateMark marks a load whose rate was higher than the client self-check found accurate. Otherwise
// it returns nil.
func (i *Info) rateMark() *results.Mark {
	s, most := i.SelfCheck(), i.highestRate()
	if s == nil || most <= s.HighestRate {
		return nil
	}
	values := mark.Values{"due_per_second": most}
	if s.HighestRate > 0 {
		values["most_per_second"] = s.HighestRate
	}
	m := results.NewMark(mark.SelfCheck, false, values, nil)
	return &m
}
