package setting

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Aspect joins declared values into one text, or is a fact about a run that no key
// declares. Of returns "" if the records do not show it.
type Aspect struct {
	Name string
	Of   func(*run.Run) string
	// covers has the paths of the values that the text shows.
	covers []string
	// sameDatabase means that values of two databases cannot be compared.
	sameDatabase bool
}

// aspects returns the settings whose texts differ from their keys.
func aspects() []Aspect {
	ofLoad := func(text func(*results.Load) string) func(*run.Run) string {
		return func(r *run.Run) string { return text(&r.Info.Record.Load) }
	}
	list := []Aspect{
		{Name: "operations or read modes", Of: ofLoad(operations), covers: []string{"load.operation", "load.mix", "load.same_key", "load.read_mode"}},
		{Name: "rates", Of: rates, covers: []string{"load.rate", "load.rate_end", "load.arrival", "load.period", "load.peak", "load.burst"}},
		{Name: "clients on connections", Of: clients, covers: []string{"load.clients", "load.connections"}},
		{Name: Payload, Of: ofLoad(payload), covers: []string{"load.key_size", "load.value_size", "load.value_size_max"}},
		{Name: Data, Of: ofLoad(data), covers: []string{"load.keys", "load.preload_keys"}},
		{Name: "loads", Of: Lengths, covers: []string{"load.requests", "load.duration", "load.warm_up", "load.cool_down"}},
		{Name: "steps", Of: stepLengths},
		{Name: "verdicts", Of: ofLoad(verdicts), covers: []string{"load.judge"}},
		{Name: "fsync", Of: func(r *run.Run) string { return r.Info.Record.Fsync }},
		{Name: Members, Of: members},
		{Name: Resources, Of: Limits, covers: []string{"resources"}},
		{Name: "transports", Of: func(r *run.Run) string { return r.Info.Transport() }},
		{Name: Encryption, Of: encryption},
		{Name: "credentials", Of: credentials},
		{Name: "versions", Of: func(r *run.Run) string { return strings.Join(run.Distinct(r.Info.Versions()), ", ") }, sameDatabase: true},
	}
	for _, half := range all.Halves() {
		if f, ok := half.(abilities.Facter); ok {
			for _, one := range f.Facts() {
				list = append(list, Aspect{Name: one.Name, Of: one.Of, covers: one.Covers})
			}
		}
	}
	return list
}

// operations describes the requests' operations and the reads' promise.
func operations(l *results.Load) string {
	if operation(l) == "" {
		return ""
	}
	text := string(l.Operation)
	if len(l.Mix) > 0 {
		text = workload.Percents(l.Mix)
	}
	if l.Read != "" {
		text += ", " + string(l.Read)
	}
	if l.SameKey {
		text += ", same key"
	}
	return text
}

// rates returns the rates in the file. The rate of a search is its result.
func rates(r *run.Run) string {
	if s := all.SoughtBy(r); s != nil {
		return "of a search for a " + s.Name
	}
	var list []string
	for _, s := range r.Info.Record.Steps {
		list = append(list, run.RateText(s.Rate, s.RateEnd))
	}
	if l := &r.Info.Record.Load; len(list) == 0 {
		list = []string{run.RateText(l.Rate, l.RateEnd)}
	}
	return strings.Join(run.Distinct(list), ", ") + r.Info.Record.Load.DescribeArrival()
}

func clients(r *run.Run) string {
	return Clients(r, func(parts []string) string { return strings.Join(run.Distinct(parts), ", ") })
}

// Clients describes the clients and connections in each step, joined into one text, and the number
// of generators; "" if no step was recorded.
func Clients(r *run.Run, join func([]string) string) string {
	var parts []string
	for _, s := range r.Info.Record.Steps {
		parts = append(parts, fmt.Sprintf("%d on %d", s.Clients, s.Connections))
	}
	if len(parts) == 0 {
		for _, n := range r.Load.ClientNumbers() {
			parts = append(parts, fmt.Sprint(n))
		}
	}
	text := join(parts)
	if r.Info.Record.ByGenerators() && text != "" {
		text += fmt.Sprintf(" (%d generators)", len(r.Info.Record.Issuers()))
	}
	return text
}

// Lengths describes the bounds of the load, and the parts that are not measured.
func Lengths(r *run.Run) string {
	l := &r.Info.Record.Load
	parts := bounds(l.Requests, l.Duration)
	if l.WarmUp > 0 {
		parts = append(parts, "warm-up "+l.WarmUp.String())
	}
	if l.CoolDown > 0 {
		parts = append(parts, "cool-down "+l.CoolDown.String())
	}
	return strings.Join(parts, ", ")
}

// bounds returns the requests and the time after which a load or a step ends.
func bounds(requests int64, length time.Duration) (parts []string) {
	if requests > 0 {
		parts = append(parts, humanize.Comma(requests)+" requests")
	}
	if length > 0 {
		parts = append(parts, length.String())
	}
	return parts
}

// stepLengths describes the bounds and ramps of steps in order.
func stepLengths(r *run.Run) string {
	var steps []string
	for _, s := range r.Info.Record.Steps {
		parts := bounds(s.Requests, s.Duration)
		if s.Ramp > 0 {
			parts = append(parts, "ramp "+s.Ramp.String())
		}
		if s.Down {
			parts = append(parts, "on the way back")
		}
		steps = append(steps, strings.Join(parts, ", "))
	}
	if one := run.Distinct(steps); len(one) == 1 {
		return fmt.Sprintf("%d of %s", len(steps), one[0])
	}
	return strings.Join(steps, "; ")
}

// verdicts returns the bounds that differ from the defaults; "" if the records have no bounds.
func verdicts(l *results.Load) string {
	if l.Judge == (workload.Judge{}) {
		return ""
	}
	of := func(j workload.Judge) map[string]value {
		d := keyValues{values: map[string]value{}}
		if data, err := json.Marshal(j); err == nil {
			d.add("judge", data)
		}
		return d.values
	}
	is, preset := of(l.Judge), of(workload.DefaultJudge())
	var parts []string
	for path, v := range is {
		if preset[path] != v {
			parts = append(parts, strings.ReplaceAll(strings.TrimPrefix(path, "judge."), ".", " ")+" "+v.text)
		}
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return "the default bounds"
	}
	return strings.Join(parts, ", ")
}

// credentials states whether clients use a certificate or a password, "" if not recorded.
func credentials(r *run.Run) string {
	_, d := resolved(r)
	if d == nil {
		return ""
	}
	var tls struct{ Cert string }
	var parts []string
	if json.Unmarshal(d["tls"], &tls) == nil && tls.Cert != "" {
		parts = append(parts, "a certificate")
	}
	if len(d["auth"]) > 0 && string(d["auth"]) != "null" {
		parts = append(parts, "a password")
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " and ")
}
