// Package profile declares profiles that members record of themselves during a load.
package profile

import (
	"cmp"
	"fmt"
	"path"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Ability returns the declaration.
func Ability() ability.Ability {
	return ability.Ability{Name: "profile", Words: []string{"profiles", "profiler"}, Keys: Keys(), Whole: true, Member: Record()}
}

// Record declares the entry that lists profiles in member records.
func Record() ability.Record[[]Profile] { return ability.Record[[]Profile]{Key: "profiles"} }

// Profile records a profile that a member made, in the pprof format.
type Profile struct {
	// Kind is "cpu".
	Kind string `json:"kind"`
	// File is below the tag folder.
	File string `json:"file"`
	// Start is when the profile was requested, by the client clock, and Length the time that it
	// took.
	Start  time.Time     `json:"start"`
	Length time.Duration `json:"length_ns"`
}

// Dir is the folder for profiles below a tag folder.
const Dir = "profiles"

// File returns the file for a member's CPU profile below the tag folder. Members count from 0.
func File(member int) string { return path.Join(Dir, fmt.Sprintf("%d-cpu.pprof", member+1)) }

// Keys declares the keys in an experiment file.
func Keys() ability.Section[Plan] {
	return ability.Section[Plan]{
		Key: "profile", Meaning: "[profiles](profiles.md) of members", Fields: section,
		Resolved: func(_ *yamlfile.Reader, _, all yamlfile.Written[Plan], _ *ability.Database) Plan { return all.Is },
		Shown: func(p Plan, _ workload.Load) *yamlfile.Node {
			if p == (Plan{}) {
				return nil
			}
			return section().Show(&p).Flow()
		},
	}
}

// Plan asks members to profile themselves during the load.
type Plan struct {
	// CPU is the CPU profile duration, in whole seconds; 0 means no profile.
	CPU time.Duration `json:"cpu_ns"`
}

// longest bounds a profile, because profiling costs processor time.
const longest = 10 * time.Minute

// section declares the lengths.
func section() yamlfile.Section[Plan] {
	return yamlfile.Section[Plan]{
		Fields: []yamlfile.Field[Plan]{
			yamlfile.Key[Plan, time.Duration]{
				Row:  yamlfile.Row{Name: "cpu", Usually: "required", Meaning: "length of each member's CPU profile, in whole seconds from `1s` to `10m`"},
				Kind: yamlfile.DurationKind(), At: func(p *Plan) *time.Duration { return &p.CPU },
			}.Field(),
		},
		Check: func(r *yamlfile.Reader, w *yamlfile.Written[Plan]) {
			switch d := w.Is.CPU; {
			case !w.Has("cpu"):
				if !yamlfile.HasKey(w.Node, "cpu") {
					r.Errorf(w.Node, "profile: cpu is missing; give its length, such as cpu: 30s")
				}
			case d < time.Second || d%time.Second != 0 || d > longest:
				r.Errorf(cmp.Or(w.NodeOf("cpu"), w.Node), "cpu: want whole seconds from 1s to %v, got %v", longest, d)
			}
		},
	}
}
