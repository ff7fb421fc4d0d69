// Package resources declares the resource limits for each member's processes.
package resources

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Ability returns the declaration.
func Ability() ability.Ability {
	return ability.Ability{Name: "resources", Keys: Keys(), Start: start, Refuses: refuses, Setup: setup}
}

// start sets the limits in the request to start a member.
func start(v ability.Values, req *dbtesterpb.StartRequest) (err error) {
	if l := Keys().Of(v); l.Any() {
		req.Limits, err = dbtesterpb.Record("limits", l)
	}
	return err
}

// refuses returns an error if an agent does not limit its member: older agents cannot.
func refuses(v ability.Values, reply *dbtesterpb.StartResponse) error {
	if Keys().Of(v).Any() && len(reply.Limits) == 0 {
		return errors.New("its version of dbtester can't limit members: resources needs a newer one")
	}
	return nil
}

// setup records the limits.
func setup(v ability.Values, s *results.Setup) {
	if l := Keys().Of(v); l.Any() {
		s.Resources = &l
	}
}

// Keys declares the keys in an experiment file.
func Keys() ability.Section[resources.Limits] {
	return ability.Section[resources.Limits]{
		Key:     "resources",
		Meaning: "resources that each member started by agents may use, limited by control groups: the [`resources` keys](#keys-of-resources); see [equal resources](resources.md)",
		Fields:  section, Resolved: resolve,
		Shown: func(l resources.Limits, _ workload.Load) *yamlfile.Node {
			if !l.Any() {
				return nil
			}
			return section().Show(&l).Flow()
		},
	}
}

// section declares the limits for a member's processes together.
func section() yamlfile.Section[resources.Limits] {
	limited := func(l *resources.Limits) bool { return l.CPUs > 0 }
	return yamlfile.Section[resources.Limits]{
		Fields: []yamlfile.Field[resources.Limits]{
			yamlfile.Key[resources.Limits, float64]{
				Row:  yamlfile.Row{Name: "cpus", Unit: "processors", Meaning: "processor time, where 1 is one whole processor; 0 means no limit"},
				Kind: yamlfile.FactorKind(), At: func(l *resources.Limits) *float64 { return &l.CPUs }, Shown: limited,
			}.Field(),
			yamlfile.Key[resources.Limits, int64]{
				Row:  yamlfile.Row{Name: "memory", Meaning: "memory such as `2GiB`, including the page cache for the member's files; 0 means no limit"},
				Kind: yamlfile.LargeSizeKind(), At: func(l *resources.Limits) *int64 { return &l.MemoryBytes },
				Shown: func(l *resources.Limits) bool { return l.MemoryBytes > 0 },
			}.Field(),
			yamlfile.Key[resources.Limits, time.Duration]{
				Row: yamlfile.Row{Name: "period", Preset: resources.DefaultPeriod.String(),
					Meaning: "period over which processor time is counted, from `1ms` to `1s`: a member that has used up its time is stopped until the period ends"},
				Kind: yamlfile.DurationKind(), At: func(l *resources.Limits) *time.Duration { return &l.Period }, Shown: limited,
			}.Field(),
		},
		Check: func(r *yamlfile.Reader, w *yamlfile.Written[resources.Limits]) { check(r, *w) },
	}
}

// check reports limits that are out of bounds and returns the others.
func check(r *yamlfile.Reader, w yamlfile.Written[resources.Limits]) resources.Limits {
	l := section().Filled(w)
	if l.CPUs == 0 {
		l.Period = 0
	}
	for _, err := range yamlfile.Joined(l.Check()) {
		name, _, _ := strings.Cut(err.Error(), " ")
		r.Errorf(cmp.Or(w.NodeOf(name), w.Node), "resources: %v", err)
	}
	return l
}

// resolve resolves the limits for database members, and options that follow from them.
func resolve(r *yamlfile.Reader, own, all yamlfile.Written[resources.Limits], d *ability.Database) (l resources.Limits) {
	if d.Running {
		if own.Given() {
			r.Errorf(own.Node, "resources: endpoints (line %d) are of a cluster that is already running; its members cannot be limited", d.Node("endpoints").Line)
		}
		return l
	}
	w, before := section().Over(own, all), r.Errors()
	if l = check(yamlfile.New(""), w); own.Given() && all.Given() {
		check(r, w) // they may contradict one another
	}
	fitter, fits := d.Options.(database.MemoryFitter)
	if r.Errors() > before || !fits || l.MemoryBytes == 0 {
		return l
	}
	options := d.Node("options")
	given := func(option string) bool {
		return options != nil && yamlfile.IsMapping(options) && yamlfile.HasKey(options, option)
	}
	for _, err := range yamlfile.Joined(fitter.FitMemory(l.MemoryBytes, given)) {
		if strings.HasPrefix(err.Error(), "memory ") {
			r.Errorf(w.NodeOf("memory"), "resources of %s: %v", d.ID, err)
			continue
		}
		r.Errorf(d.OptionAt(err.Error()), "options of %s: %v", d.ID, err)
	}
	return l
}
