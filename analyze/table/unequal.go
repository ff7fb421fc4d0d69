package table

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	humanize "github.com/dustin/go-humanize"
)

// aspect is a condition in which runs may differ. Of returns "" where it means
// nothing.
type aspect struct {
	what string
	of   func(*run.Run) string
}

// Unequal lists the conditions in which the runs differ, so that they are hard to
// compare: "fsync: A: every write; B: none". Versions are compared among the runs of one
// database. Names are those of columns by the tags of their runs.
func Unequal(runs []*run.Run, names map[string]string) []string {
	notes := []string{}
	add := func(runs []*run.Run, list []aspect) {
		for _, a := range list {
			if text := differing(runs, a.of, names); text != "" {
				notes = append(notes, a.what+": "+text)
			}
		}
	}
	add(runs, slices.Concat(loadAspects(), machineAspects(), otherParameters(runs)))
	var databases []string
	for _, r := range runs {
		databases = append(databases, r.Info.Record.Database)
	}
	for _, name := range run.Distinct(databases) {
		same := slices.DeleteFunc(slices.Clone(runs), func(r *run.Run) bool { return r.Info.Record.Database != name })
		add(same, []aspect{{"versions", func(r *run.Run) string { return JoinDistinct(r.Info.Versions()) }}})
	}
	for _, name := range run.OptionNames(runs) {
		if !strings.EqualFold(name, run.OptionTransport) {
			add(runs, []aspect{{"option " + name, func(r *run.Run) string { return r.Info.Options()[name] }}})
		}
	}
	return notes
}

// textOf is the text of a cell that has one.
func textOf(cell func(*run.Run) Cell) func(*run.Run) string {
	return func(r *run.Run) string {
		if one := cell(r); one.Missing == "" {
			return one.Text
		}
		return ""
	}
}

// loadAspects are what was asked of the load.
func loadAspects() []aspect {
	ofLoad := func(get func(l *results.Load) string) func(*run.Run) string {
		return func(r *run.Run) string { return get(&r.Info.Record.Load) }
	}
	return []aspect{
		{"operations or read modes", textOf(operation)},
		{"rates", askedRate},
		{"clients on connections", textOf(clientsCell)},
		{"key + value bytes", textOf(payload)},
		{"keys before the load", textOf(keysBefore)},
		{"key laws", ofLoad(func(l *results.Load) string { return string(l.KeyLaw) })},
		{"fsync", func(r *run.Run) string { return r.Info.Record.Fsync }},
		{"members", textOf(members)},
		{"loads", configured},
		{"time-outs", ofLoad(func(l *results.Load) string { return duration(l.Timeout) })},
		{"drain times", func(r *run.Run) string {
			if !r.Rated() {
				return ""
			}
			return r.Info.Record.Load.Drain.String()
		}},
		{"targets", ofLoad(func(l *results.Load) string { return string(l.Target) })},
		{"transports", func(r *run.Run) string { return r.Info.Transport() }},
	}
}

// askedRate is the rate that the file asked for: that of a search is what it found.
func askedRate(r *run.Run) string {
	if r.Capacity != nil {
		return "of a search for a capacity"
	}
	return rate(r).Text
}

// duration prints a time that is not 0.
func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// machineAspects are the machines, the programs and the records.
func machineAspects() []aspect {
	ofManifest := func(get func(m *results.Manifest) string) func(*run.Run) string {
		return func(r *run.Run) string {
			if r.Info.Manifest == nil {
				return ""
			}
			return get(r.Info.Manifest)
		}
	}
	return []aspect{
		{"client machines", ofManifest(func(m *results.Manifest) string { return MachineText(m.Client) })},
		{"server machines", serverMachines},
		{"resources of a member", limitsText},
		{"placements of the client", placement},
		{"versions of dbtester", ofManifest(func(m *results.Manifest) string { return m.Tool.Version })},
		{"record formats", ofManifest(func(m *results.Manifest) string {
			return fmt.Sprintf("%d (definitions changed: see CHANGELOG.md)", m.Format)
		})},
	}
}

// limitsText is what each member might use, "" for a cluster without agents.
func limitsText(r *run.Run) string {
	switch l := r.Info.Record.Resources; {
	case r.Info.Manifest == nil || r.Info.Unattended():
		return ""
	case l == nil:
		return "no limits"
	default:
		return l.String()
	}
}

// serverMachines describes the members' machines, each once.
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

// placement is where the client ran, "" if the records do not show it.
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

// otherParameters are the parameters of the loads that no other aspect shows, by
// their names in the manifest.
func otherParameters(runs []*run.Run) (list []aspect) {
	shown := []string{
		"workload", "operation", "mix", "read_mode", "same_key", "rate", "rate_end", "arrival", "backlog", "clients", "connections", "steps",
		"key_size_bytes", "value_size_bytes", "value_size_max_bytes", "keys", "preload_keys", "key_law", "requests", "duration_ns", "warm_up_ns", "cool_down_ns",
		"timeout_ns", "drain_ns", "target", "first_key", "judge",
	}
	parameters := map[*run.Run]map[string]json.RawMessage{}
	names := map[string]bool{}
	for _, r := range runs {
		data, err := json.Marshal(r.Info.Record.Load)
		var of map[string]json.RawMessage
		if err != nil || json.Unmarshal(data, &of) != nil {
			continue
		}
		parameters[r] = of
		for name := range of {
			names[name] = !slices.Contains(shown, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !names[name] {
			continue
		}
		list = append(list, aspect{"load parameter " + name, func(r *run.Run) string {
			if r.Info.Manifest == nil {
				return ""
			}
			if value, ok := parameters[r][name]; ok {
				return string(value)
			}
			return "not set"
		}})
	}
	return list
}

// differing lists the runs by their values, "" if all have the same.
func differing(runs []*run.Run, of func(*run.Run) string, names map[string]string) string {
	var values []string
	tags := map[string][]string{}
	for _, r := range runs {
		v := of(r)
		if v == "" {
			continue
		}
		if tags[v] == nil {
			values = append(values, v)
		}
		tags[v] = append(tags[v], cmp.Or(names[r.Info.Tag], r.Info.Tag))
	}
	if len(values) < 2 {
		return ""
	}
	var parts []string
	for _, v := range values {
		parts = append(parts, strings.Join(run.Distinct(tags[v]), ", ")+": "+v)
	}
	return strings.Join(parts, "; ")
}

// configured prints the bounds of the load, and the parts cut from its measurement.
func configured(r *run.Run) string {
	l := r.Info.Record.Load
	var parts []string
	if l.Requests > 0 {
		parts = append(parts, humanize.Comma(l.Requests)+" requests")
	}
	if l.Duration > 0 {
		parts = append(parts, l.Duration.String())
	}
	if l.WarmUp > 0 {
		parts = append(parts, "warm-up "+l.WarmUp.String())
	}
	if l.CoolDown > 0 {
		parts = append(parts, "cool-down "+l.CoolDown.String())
	}
	return strings.Join(parts, ", ")
}
