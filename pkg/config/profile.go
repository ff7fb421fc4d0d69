package config

import (
	"cmp"
	"time"

	"go.yaml.in/yaml/v4"
)

// Profile is what members profile of themselves while they are loaded.
type Profile struct {
	// CPU is how long they profile their processor time, in whole seconds.
	CPU time.Duration `json:"cpu_ns"`
}

// profileSpec is a profile as it was written.
type profileSpec struct{ cpu given[time.Duration] }

// longestProfile keeps a profile a look at a load and not a part of it.
const longestProfile = 10 * time.Minute

// profile reads what members profile.
func (r *reader) profile(key string, node *yaml.Node) (profileSpec, bool) {
	var p profileSpec
	r.fields(key, node, keys{"cpu": into(&p.cpu, r.duration)})
	switch d := p.cpu.is; {
	case !p.cpu.set():
		if !hasKey(node, "cpu") {
			r.errorf(node, "profile: of what? give cpu and for how long, such as cpu: 30s")
		}
		return p, false
	case d < time.Second || d%time.Second != 0 || d > longestProfile:
		r.errorf(cmp.Or(p.cpu.at, node), "cpu: want whole seconds from 1s to %v, got %v", longestProfile, d)
		return p, false
	}
	return p, true
}

// profileOf resolves what members profile; nil is nothing.
func profileOf(spec given[profileSpec]) *Profile {
	if !spec.set() {
		return nil
	}
	return &Profile{CPU: spec.is.cpu.is}
}

func showProfile(p *Profile) *yaml.Node {
	return flow(mapping{}.with("cpu", duration(p.CPU)))
}
