package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/setting"
	"github.com/coreos/dbtester/pkg/results"
)

// Unequal lists the conditions that differ between the runs and make them hard to compare: "fsync:
// A: every write; B: none". Versions are compared only between runs of the same database. names
// maps run tags to column names.
func Unequal(runs []*run.Run, names map[string]string) []string {
	return append([]string{}, setting.Unequal(runs, names, machines()...)...)
}

// machines returns the aspects that are not settings: hardware, placement, program versions and
// record versions.
func machines() []setting.Aspect {
	ofManifest := func(get func(m *results.Manifest) string) func(*run.Run) string {
		return func(r *run.Run) string {
			if r.Info.Manifest == nil {
				return ""
			}
			return get(r.Info.Manifest)
		}
	}
	return []setting.Aspect{
		{Name: "client machines", Of: ofManifest(func(m *results.Manifest) string { return MachineText(m.Client) })},
		{Name: "server machines", Of: serverMachines},
		{Name: "placements of the client", Of: placement},
		{Name: "versions of dbtester", Of: ofManifest(func(m *results.Manifest) string { return m.Tool.Version })},
		{Name: "record formats", Of: ofManifest(func(m *results.Manifest) string {
			return fmt.Sprintf("%d (definitions changed: see CHANGELOG.md)", m.Format)
		})},
	}
}

// serverMachines describes the member machines, each once.
func serverMachines(r *run.Run) string {
	var hosts []string
	for _, m := range r.Info.Record.Members {
		if m.Host != nil {
			hosts = append(hosts, MachineText(*m.Host))
		}
	}
	slices.Sort(hosts) // trials rotate the members
	return strings.Join(run.Distinct(hosts), " and ")
}

// placement states where the client ran; "" if the records do not show it.
func placement(r *run.Run) string {
	_, known := r.SharedHost()
	switch {
	case r.ClientShares():
		return "on a member's machine"
	case known:
		return "on a machine of its own"
	}
	return ""
}
