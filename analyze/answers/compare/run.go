package compare

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// Run reads the runs and compares them. It returns a [*Refusal] if comparing them makes no sense.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.open == nil {
		o.open = run.FromFolder
	}
	a, errA := o.readSide(ctx, "A", o.A, o.TagA)
	b, errB := o.readSide(ctx, "B", o.B, o.TagB)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	return compareSides(o, a, b)
}

// readSide reads the runs on one side.
func (o *Options) readSide(ctx context.Context, name string, folders []string, tag string) (Side, error) {
	s := Side{Name: name}
	for _, folder := range folders {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		runs, err := o.open(folder)
		if err != nil {
			return s, err
		}
		var tags []string
		for _, r := range runs {
			tags = append(tags, r.Info.Record.Tag)
		}
		at := slices.Index(tags, tag)
		if tag == "" && len(runs) == 1 {
			at = 0
		}
		if at < 0 {
			return s, &Refusal{[]string{fmt.Sprintf("%s holds %s: choose one of them with --tag (of the first runs) and --to-tag (of those after --to)", folder, strings.Join(tags, ", "))}}
		}
		s.Runs = append(s.Runs, Recorded{Folder: folder, Run: runs[at]})
	}
	for i, r := range s.Runs {
		r.Run.Info.Tag = fmt.Sprintf("%s%d", name, i+1) // unique, and displayed as the name of the side
	}
	return s, nil
}

// compareSides compares runs that are already read.
func compareSides(o Options, a, b Side) (*Report, error) {
	if reasons := refusals(o.Metrics, a, b); len(reasons) > 0 {
		return nil, &Refusal{reasons}
	}
	r := &Report{Margin: o.Margin, A: a, B: b, Differences: differences(a, b)}
	if o.Change != "" {
		r.Differences = slices.Insert(r.Differences, 0, o.Change)
	}
	all := slices.Concat(a.Runs, b.Runs)
	r.Invalid, r.Marks = invalid(all), marked(all)
	r.Notes = append(r.Notes, oneProgram(a, b)...)
	r.Notes = append(r.Notes, inconsistencies(a)...)
	r.Notes = append(r.Notes, inconsistencies(b)...)
	pairs := pairsOf(a.Runs, b.Runs)
	onePair := o.turns && len(a.Runs) == 1 && len(b.Runs) == 1 // the times in one pair cannot show alternation
	if r.Interleaved = pairs != nil; !r.Interleaved && !onePair {
		r.Notes = append(r.Notes, "not interleaved: the runs of A and B did not alternate, so any change on the machines in between looks like a difference between A and B")
	}
	unknown, err := r.judge(o, pairs)
	if err != nil {
		return nil, err
	}
	r.Notes = append(r.Notes, unknown...)
	r.Notes = append(r.Notes, r.Reasons...)
	r.Notes = append(r.Notes, intervalNote(all, o.Margin)...)
	r.compareAbilities()
	return r, nil
}

// pairsOf returns the pairs if the runs alternated and A came first about as often as B; otherwise
// nil.
func pairsOf(a, b []Recorded) (pairs []pair) {
	if len(a) != len(b) || len(a) < 2 {
		return nil
	}
	isB := map[*run.Run]bool{}
	for _, r := range b {
		isB[r.Run] = true
	}
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y Recorded) int {
		return x.Run.Info.Record.LoadStart.Compare(y.Run.Info.Record.LoadStart)
	})
	firsts := 0
	for i := 0; i < len(all); i += 2 {
		x, y := all[i].Run, all[i+1].Run
		switch {
		case isB[x] == isB[y]:
			return nil
		case isB[x]:
			pairs, firsts = append(pairs, pair{y, x}), firsts-1
		default:
			pairs, firsts = append(pairs, pair{x, y}), firsts+1
		}
	}
	if firsts < -1 || firsts > 1 {
		return nil
	}
	return pairs
}

// invalid returns the marks that make runs invalid, each with its folder.
func invalid(runs []Recorded) (list []string) {
	for _, r := range runs {
		marks := marksOf(r.Run)
		for _, m := range marks {
			if m.Invalid {
				list = append(list, fmt.Sprintf("%s (%s): %s: %s", filepath.Base(r.Folder), r.Run.Info.Tag, m.Code, m.Text))
			}
		}
	}
	return list
}

// judge compares every metric and fills the rows. It returns the deciding metrics whose values are
// unknown, with reasons.
func (r *Report) judge(o Options, pairs []pair) (unknown []string, err error) {
	if most := max(len(r.A.Runs), len(r.B.Runs)); most > abtest.MaxGroup {
		return nil, &Refusal{[]string{fmt.Sprintf("at most %d runs a side can be compared, got %d", abtest.MaxGroup, most)}}
	}
	var metrics []abtest.Metric
	undecided := false
	for _, one := range rowsOf(r.A.Runs[0].Run) {
		decides := slices.Contains(o.Metrics, one.definition.name)
		if o.brief && !decides {
			continue
		}
		one.a, one.b = one.values(r.A.Runs), one.values(r.B.Runs)
		if missing := slices.Concat(one.a.missing, one.b.missing); len(missing) > 0 {
			if decides {
				undecided = true
				unknown = append(unknown, fmt.Sprintf("%s is not known for %s", one.name(), strings.Join(missing, "; ")))
			}
			continue
		}
		metrics = append(metrics, abtest.Metric{Name: one.name(), HigherIsBetter: one.higher, Decides: decides, Sample: one.sample(pairs)})
		r.rows = append(r.rows, one)
	}
	r.Result = decide(o, metrics)
	if undecided && r.Verdict != abtest.Worse {
		r.Verdict = abtest.Inconclusive
	}
	return unknown, nil
}

// decide judges, and confirms the verdict with the final block of pairs if there is one.
func decide(o Options, metrics []abtest.Metric) abtest.Result {
	rule := abtest.Rule{Alpha: Alpha, Margin: o.Margin, Looks: o.Looks}
	if o.Block == 0 {
		return abtest.Judge(rule, metrics)
	}
	before := slices.Clone(metrics)
	for i, m := range before {
		if pairs, ok := m.Sample.(abtest.Pairs); ok {
			before[i].Sample = pairs[:max(len(pairs)-o.Block, 0)]
		}
	}
	return abtest.Confirm(rule, abtest.Judge(rule, before), metrics, o.Block)
}
