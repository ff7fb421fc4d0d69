package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

func durable(r *run.Run) Cell {
	groups := map[string][]time.Duration{} // the times of probes, by the verdict on them
	var order []string
	unknown := 0
	for _, m := range r.Info.Record.Members {
		if m.Disk == nil {
			unknown++
			continue
		}
		key := durability(*m.Disk, strings.HasPrefix(r.Info.Record.Fsync, "none"))
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], m.Disk.FsyncP50)
	}
	for i, key := range order {
		if least, most := slices.Min(groups[key]), slices.Max(groups[key]); most > 0 {
			order[i] += fmt.Sprintf(", fdatasync p50 %.0f us", float64(least)/1e3)
			if most > least {
				order[i] = strings.TrimSuffix(order[i], " us") + fmt.Sprintf("..%.0f us", float64(most)/1e3)
			}
		}
	}
	if unknown > 0 && len(order) > 0 {
		order = append(order, fmt.Sprintf("not recorded of %d of %d members", unknown, len(r.Info.Record.Members)))
	}
	return words(strings.Join(order, "; "), "what the data directories lie on was not recorded")
}

// durability returns whether a member's data survives a power cut. unsynced means
// that the driver states no fsync at all.
func durability(d results.Disk, unsynced bool) string {
	switch {
	case unsynced:
		return "NO, nothing is synced: " + d.Filesystem
	case d.LosesPower(), d.SyncsTooFast():
		return "NO: " + d.Filesystem
	case d.FsyncP50 == 0:
		return "not probed: " + d.Filesystem
	}
	return "yes: " + d.Filesystem
}
