package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/setting"
)

// free returns the load parameters, by manifest name, that may differ between A and B: they change
// the handling of requests, not the requests themselves.
func free() []string {
	return []string{"workload", "connections", "ramp_ns", "timeout_ns", "drain_ns", "target", "failover", "first_key", "expect"}
}

// refusals returns why the two sides cannot be compared by the deciding metrics.
func refusals(metrics []string, a, b Side) (reasons []string) {
	for _, s := range []Side{a, b} {
		if len(s.Runs) == 0 {
			reasons = append(reasons, s.Name+" has no run")
		}
	}
	if len(reasons) > 0 {
		return reasons
	}
	seen := map[string]string{}
	first := a.Runs[0]
	for _, r := range slices.Concat(a.Runs, b.Runs) {
		id := r.Folder
		if m := r.Run.Info.Manifest; m != nil && m.RunID != "" {
			id = m.RunID
		}
		id += " " + r.Run.Info.Record.Tag
		if other, twice := seen[id]; twice {
			reasons = append(reasons, fmt.Sprintf("%s is the same run as %s", r.Run.Info.Tag, other))
		}
		seen[id] = r.Run.Info.Tag
		if x, y := format(first.Run), format(r.Run); x != y {
			reasons = append(reasons, fmt.Sprintf("the records of %s have format %d and the records of %s format %d: definitions of numbers changed in between", first.Run.Info.Tag, x, r.Run.Info.Tag, y))
		}
	}
	for _, r := range slices.Concat(a.Runs[1:], b.Runs) {
		if x, y := setting.Limits(first.Run), setting.Limits(r.Run); x != y && x != "" && y != "" {
			reasons = append(reasons, fmt.Sprintf("the members had different resources: %s in %s, %s in %s", x, first.Run.Info.Tag, y, r.Run.Info.Tag))
			break
		}
	}
	if searches := searchRefusals(metrics, slices.Concat(a.Runs, b.Runs)); len(searches) > 0 {
		return append(reasons, searches...)
	}
	if gauges := gaugeRefusals(metrics, slices.Concat(a.Runs, b.Runs)); len(gauges) > 0 {
		return append(reasons, gauges...)
	}
	for _, name := range differingParameters(first, slices.Concat(a.Runs[1:], b.Runs)) {
		reasons = append(reasons, "the loads differ in "+name)
	}
	return reasons
}

func format(r *run.Run) int {
	if r.Info.Manifest == nil {
		return 0
	}
	return r.Info.Manifest.Format
}

// differingParameters names the load parameters that should be equal but differ, with the values
// from the first pair of runs that differs.
func differingParameters(first Recorded, others []Recorded) (list []string) {
	// Most loads are equal as a whole. Unless there are searches, their parameters need not be
	// compared.
	unlike := slices.DeleteFunc(slices.Clone(others), func(r Recorded) bool {
		return all.SoughtBy(first.Run) == nil && all.SoughtBy(r.Run) == nil && reflect.DeepEqual(first.Run.Info.Record.Load.Load, r.Run.Info.Record.Load.Load)
	})
	if len(unlike) == 0 {
		return nil
	}
	want := parameters(first.Run)
	for _, r := range unlike {
		got := parameters(r.Run)
		names := maps.Clone(want)
		maps.Copy(names, got)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			named := func(s string) bool { return strings.HasPrefix(s, name+":") }
			if want[name] == got[name] || slices.ContainsFunc(list, named) {
				continue
			}
			list = append(list, fmt.Sprintf("%s: %s in %s, %s in %s", name, orUnset(want[name]), first.Run.Info.Tag, orUnset(got[name]), r.Run.Info.Tag))
		}
	}
	return list
}

func orUnset(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}

// parameters returns the parameters in the load and in a search that must be equal, as JSON.
func parameters(r *run.Run) map[string]string {
	data, err := json.Marshal(r.Info.Record.Load.Load)
	var given map[string]json.RawMessage
	if err != nil || json.Unmarshal(data, &given) != nil {
		return nil
	}
	out := map[string]string{}
	for name, value := range given {
		if !slices.Contains(free(), name) {
			out[name] = string(value)
		}
	}
	if s := all.SoughtBy(r); s != nil {
		delete(out, "rate") // the rate in the last window
		for name, value := range s.Asked(r) {
			out[s.Name+"."+name] = string(value)
		}
	}
	return out
}

// differences lists the settings that differ between the sides: the change whose effect is
// compared.
func differences(a, b Side) (list []string) {
	names := map[string]string{}
	for _, s := range []Side{a, b} {
		for _, r := range s.Runs {
			names[r.Run.Info.Tag] = s.Name
		}
	}
	x, y := databases(a), databases(b)
	if x != y {
		list = append(list, fmt.Sprintf("database: A: %s; B: %s", x, y))
	}
	if x, y := executables(a), executables(b); x != y && x != "" && y != "" {
		list = append(list, fmt.Sprintf("executables: A: %s; B: %s", x, y))
	}
	return append(list, unequal(runsOf(a, b), names)...)
}

// oneProgram notes that both sides ran the same program, whatever their labels.
func oneProgram(a, b Side) []string {
	runs := runsOf(a, b)
	if slices.ContainsFunc(runs, func(r *run.Run) bool { return !setting.SameProgram(runs[0], r) }) {
		return nil
	}
	return []string{"A and B ran the same program: " + setting.Program(runs[0])}
}

// inconsistencies lists the settings that differ between runs on the same side.
func inconsistencies(s Side) (list []string) {
	for _, text := range unequal(runsOf(s), nil) {
		list = append(list, fmt.Sprintf("the runs of %s differ among themselves in %s", s.Name, text))
	}
	return list
}

func runsOf(sides ...Side) (runs []*run.Run) {
	for _, s := range sides {
		for _, r := range s.Runs {
			runs = append(runs, r.Run)
		}
	}
	return runs
}

func databases(s Side) string {
	var names []string
	for _, r := range runsOf(s) {
		names = append(names, r.Info.Record.Database)
	}
	return strings.Join(run.Distinct(names), ", ")
}

// executables returns the hashes of member programs, shortened.
func executables(s Side) string {
	var all []string
	for _, r := range runsOf(s) {
		for _, m := range r.Info.Record.Members {
			if m.Release == nil {
				continue
			}
			for _, tool := range slices.Sorted(maps.Keys(m.Release.SHA256)) {
				hash := m.Release.SHA256[tool]
				all = append(all, fmt.Sprintf("%s sha256 %s", tool, hash[:min(12, len(hash))]))
			}
		}
	}
	return strings.Join(run.Distinct(all), ", ")
}
