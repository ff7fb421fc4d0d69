package headline

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/workload"
)

// pointOf names the point of a run in a sweep; "" outside a sweep.
func pointOf(r *run.Run) string {
	s := r.Info.Record.Swept
	if s == nil || s.Key.Stepped() {
		return ""
	}
	switch {
	case s.Key == workload.SweepMembers:
		return fmt.Sprintf("%d member%s", s.Value, run.Plural(int(s.Value)))
	case strings.HasSuffix(s.Text, "B"):
		return s.Text + " before the load"
	}
	return s.Text + " keys before the load"
}

// unequal lists the settings that differ among the runs at each point. Between points, settings
// differ on purpose.
func unequal(runs []*run.Run, names map[string]string) []string {
	at := map[string][]*run.Run{}
	var order []string
	for _, r := range runs {
		p := pointOf(r)
		if at[p] == nil {
			order = append(order, p)
		}
		at[p] = append(at[p], r)
	}
	if len(order) < 2 {
		return table.Unequal(runs, names)
	}
	notes := []string{}
	for _, p := range order {
		for _, note := range table.Unequal(at[p], names) {
			notes = append(notes, strings.TrimPrefix(p+": "+note, ": "))
		}
	}
	return notes
}
