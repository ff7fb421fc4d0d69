package config

import (
	"cmp"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// resourcesSection declares what the processes of a member may use together.
func resourcesSection() section[resources.Limits] {
	limited := func(l *resources.Limits) bool { return l.CPUs > 0 }
	return section[resources.Limits]{
		Fields: []field[resources.Limits]{
			key[resources.Limits, float64]{
				Row:  row{Name: "cpus", Unit: "processors", Meaning: "processor time, 1 being all of one processor; 0 is no limit"},
				Kind: factor(), At: func(l *resources.Limits) *float64 { return &l.CPUs }, Shown: limited,
			}.Field(),
			key[resources.Limits, int64]{
				Row:  row{Name: "memory", Meaning: "memory such as `2GiB`, including the page cache of the member's files; 0 is no limit"},
				Kind: yamlfile.LargeSizeKind(), At: func(l *resources.Limits) *int64 { return &l.MemoryBytes },
				Shown: func(l *resources.Limits) bool { return l.MemoryBytes > 0 },
			}.Field(),
			key[resources.Limits, time.Duration]{
				Row: row{Name: "period", Preset: resources.DefaultPeriod.String(),
					Meaning: "period over which processor time is counted, from `1ms` to `1s`: a member that has used up its time is stopped until the period ends"},
				Kind: yamlfile.DurationKind(), At: func(l *resources.Limits) *time.Duration { return &l.Period }, Shown: limited,
			}.Field(),
		},
		Check: func(r *yamlfile.Reader, w *written[resources.Limits]) { checkLimits(r, *w) },
	}
}

// checkLimits reports limits that are out of their bounds and returns the others.
func checkLimits(r *yamlfile.Reader, w written[resources.Limits]) resources.Limits {
	l := resourcesSection().Filled(w)
	if l.CPUs == 0 {
		l.Period = 0
	}
	for _, err := range each(l.Check()) {
		name, _, _ := strings.Cut(err.Error(), " ")
		r.Errorf(cmp.Or(w.NodeOf(name), w.Node), "resources: %v", err)
	}
	return l
}

// resources resolves the limits of a database's members, and options that follow from
// them.
func (r *databaseResolver) resources(d *Database) {
	own := r.spec.resources
	if len(d.Endpoints) > 0 {
		if own.Given() {
			r.Errorf(own.Node, "resources: endpoints (line %d) are of a cluster that is already running; its members cannot be limited", r.db.NodeOf("endpoints").Line)
		}
		return
	}
	w, before := resourcesSection().Over(own, r.file.resources), r.Errors()
	if d.Resources = checkLimits(yamlfile.New(""), w); own.Given() && r.file.resources.Given() {
		checkLimits(r.Reader, w) // they may not fit one another
	}
	fitter, fits := r.spec.Options.(database.MemoryFitter)
	if r.Errors() > before || !fits || d.Resources.MemoryBytes == 0 {
		return
	}
	options := r.db.NodeOf("options")
	given := func(option string) bool {
		return options != nil && yamlfile.IsMapping(options) && yamlfile.HasKey(options, option)
	}
	for _, err := range each(fitter.FitMemory(d.Resources.MemoryBytes, given)) {
		if strings.HasPrefix(err.Error(), "memory ") {
			r.Errorf(w.NodeOf("memory"), "resources of %s: %v", r.spec.ID, err)
			continue
		}
		r.Errorf(r.optionAt(err.Error()), "options of %s: %v", r.spec.ID, err)
	}
}

// showResources shows limits, nil without any.
func showResources(d *databaseSpec) *yamlfile.Node {
	if !d.Resources.Any() {
		return nil
	}
	return resourcesSection().Show(&d.Resources).Flow()
}
