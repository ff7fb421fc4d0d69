package compare

import (
	"slices"

	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// Margin is the default for the largest difference that does not matter, as a share.
const Margin = .03

// Columns compares two columns of a report, each with the runs of one database, by the rates that
// they were sent to find, and otherwise by the default metrics of [Run]. It returns a [*Refusal] if
// comparing them makes no sense.
func Columns(a, b []*run.Run) (*Report, error) {
	o := Options{Metrics: Defaults(), Margin: Margin, brief: true}
	if len(a) > 0 {
		if s := all.SoughtBy(a[0]); s != nil {
			o.Metrics = []string{s.Name}
		}
	}
	x, y := sideOf("A", a), sideOf("B", b)
	if reasons := refusals(o.Metrics, x, y); len(reasons) > 0 {
		return nil, &Refusal{reasons}
	}
	r := &Report{Margin: o.Margin, A: x, B: y, Invalid: invalid(slices.Concat(x.Runs, y.Runs))}
	pairs := pairsOf(x.Runs, y.Runs)
	r.Interleaved = pairs != nil
	unknown, err := r.judge(o, pairs)
	r.Notes = append(unknown, r.Reasons...)
	return r, err
}

// sideOf makes a side from runs that are already read. Their tags are unchanged.
func sideOf(name string, runs []*run.Run) Side {
	s := Side{Name: name}
	for _, r := range runs {
		s.Runs = append(s.Runs, Recorded{Run: r})
	}
	return s
}

// Finding returns the finding for a metric at a stage in the load, counted from 0.
func (r *Report) Finding(metric string, stage int) (abtest.Finding, bool) {
	for i, one := range r.rows {
		if one.definition.name == metric && one.stage == stage && i < len(r.Findings) {
			return r.Findings[i], true
		}
	}
	return abtest.Finding{}, false
}

// Beside returns the findings for the other deciding metrics at the same stage.
func (r *Report) Beside(name string) (list []abtest.Finding) {
	at := slices.IndexFunc(r.rows, func(one row) bool { return one.name() == name })
	if at < 0 {
		return nil
	}
	for i, one := range r.rows {
		if one.stage == r.rows[at].stage && i != at && r.Findings[i].Decides {
			list = append(list, r.Findings[i])
		}
	}
	return list
}

// Deciding counts the findings that decide, over all stages.
func (r *Report) Deciding() (n int) {
	for _, f := range r.Findings {
		if f.Decides {
			n++
		}
	}
	return n
}
