package headline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// factsOf returns the facts for the columns.
func factsOf(columns []answers.Column) Facts {
	f := Facts{Rows: []Fact{}}
	for _, c := range columns {
		f.Columns = append(f.Columns, c.Name)
	}
	type shown struct {
		name, short string
		of          func(answers.Column) string
	}
	list := []shown{{"longest time without an answer", "longest pause", pauseFact}, {"keys", "keys", keysFact}}
	for _, half := range all.Halves() {
		if finder, ok := half.(abilities.Finder); ok {
			for _, finding := range finder.Findings() {
				list = append(list, shown{finding.Name, finding.Short, func(c answers.Column) string { return finding.Of(c.Runs) }})
			}
		}
	}
	list = append(list, []shown{
		{"server CPU per 1,000 requests", "CPU/1,000 requests", measureFact(serverCPU, func(v float64) string { return table.Significant(v) + " s" })},
		{"server memory", "server memory", measureFact(serverMemory, run.HumanSize)},
		{"disk bytes per payload byte", "disk bytes/payload byte", measureFact(diskBytes, table.Significant)},
	}...)
	for _, one := range list {
		fact := Fact{Name: one.name, Short: one.short}
		for _, c := range columns {
			fact.Texts = append(fact.Texts, one.of(c))
		}
		if strings.Join(fact.Texts, "") != "" {
			f.Rows = append(f.Rows, fact)
		}
	}
	return f
}

func pauseFact(c answers.Column) string {
	spread, first := c.Measure(answers.Pause)
	if !first.Known() {
		return ""
	}
	return answers.PauseText(first, spread.Median)
}

// keysFact states whether the database's own key count agrees with the load's.
func keysFact(c answers.Column) string {
	var texts []string
	for _, r := range c.Runs {
		k := r.Info.Record.Keys
		switch {
		case k == nil:
			return ""
		case k.Error != "":
			texts = append(texts, "not counted")
		case k.After-k.Before < k.MinAdded || k.After-k.Before > k.MaxAdded:
			texts = append(texts, fmt.Sprintf("%s found, %s to %s expected", table.Count(k.After-k.Before), table.Count(k.MinAdded), table.Count(k.MaxAdded)))
		default:
			texts = append(texts, "all found")
		}
	}
	slices.Sort(texts)
	return strings.Join(run.Distinct(texts), "; ")
}

// measureFact formats the median of a number over the trials.
func measureFact(of func(*run.Run) run.Measure, text func(float64) string) func(answers.Column) string {
	return func(c answers.Column) string {
		spread, first := c.Measure(of)
		if !first.Known() {
			return ""
		}
		return text(spread.Median)
	}
}
