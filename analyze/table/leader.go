package table

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	humanize "github.com/dustin/go-humanize"
)

// mostLeaders bounds the leaders that a cell names.
const mostLeaders = 5

// leader prints the members that led during the load, or without events the one in the
// manifest.
func leader(r *run.Run) Cell {
	all := r.Machines.Leaders
	if len(all) == 0 {
		all = []int{r.Info.Record.Leader}
	}
	var parts []string
	for _, index := range all {
		if index < 0 || index >= len(r.Info.Record.Members) {
			return missing("not known when the load began")
		}
		parts = append(parts, fmt.Sprintf("%d (%s)", index+1, r.Info.Record.Members[index].Addr))
	}
	text := "member " + strings.Join(parts[:min(len(parts), mostLeaders)], ", then ")
	if more := len(parts) - mostLeaders; more > 0 {
		text += fmt.Sprintf(", and %s more", humanize.Comma(int64(more)))
	}
	return number(float64(all[0]+1), 0, "%s", text)
}
