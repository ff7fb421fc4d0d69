package config

import (
	"cmp"
	"slices"
	"strings"
)

// meaning resolves what the load does: one operation, a mix, or a mix that was
// asked for by name.
func (r *loadResolver) meaning(l *Load) {
	spec := r.spec
	switch {
	case spec.workload.set():
		w := r.workload()
		l.Workload, l.Mix = w.name, w.mix
	case spec.mix.set():
		l.Mix = sharesOf(spec.mix.is)
	default:
		l.Operation = spec.operation.or(Defaults().Operation)
	}
	for i, op := range l.Operations() {
		if !slices.Contains(r.db.entry.Operations, op) {
			r.lacks(i, op)
		}
	}
	reader := slices.Contains(l.Operations(), "range")
	switch g := spec.rangeLimit; {
	case reader && g.set() && g.is < 1:
		r.errorf(g.at, "range_limit: a range reads at least one key")
	case reader:
		l.RangeLimit = g.or(DefaultRangeLimit)
	case g.set():
		r.idle(g.place(), "no operation of the load reads ranges")
	}
}

// workload is the one the file names; its word was checked when it was read.
func (r *loadResolver) workload() workload {
	i := slices.IndexFunc(workloads(), func(w workload) bool { return w.name == r.spec.workload.is })
	return workloads()[i]
}

// lacks reports that the database does not do the i-th operation of the load.
func (r *loadResolver) lacks(i int, op string) {
	name, does := r.db.entry.Name, strings.Join(r.db.entry.Operations, ", ")
	switch spec := r.spec; {
	case spec.workload.set():
		r.errorf(spec.workload.at, "workload: %s has %q, which %s does not do (it does %s)", spec.workload.is, op, name, does)
	case spec.mix.set():
		r.errorf(spec.mix.is[i].at, "mix: %s does not do %q (it does %s)", name, op, does)
	default:
		r.errorf(r.at(spec.operation.at), "%s: %s does not do %q (it does %s)", cmp.Or(spec.operation.key, "operation"), name, op, does)
	}
}

// keys resolves which keys exist before the load, and which of them operations
// take.
func (r *loadResolver) keys(l *Load) {
	spec := r.spec
	law := DefaultKeyLaw
	if spec.workload.set() {
		law = r.workload().keyLaw
	}
	places := written(spec.keys.place(), spec.keyLaw.place())
	switch {
	case !l.needsKeys():
		for _, p := range places {
			r.idle(p, "a load that only writes takes no keys that exist")
		}
	case l.SameKey:
		for _, p := range places {
			r.errorf(p.at, "%s: same_key (line %d) sends every request to one key; give one of the two", p.key, spec.sameKey.at.Line)
		}
	default:
		l.Keys, l.KeyLaw = spec.keys.or(DefaultKeys), spec.keyLaw.or(law)
		if l.Keys < 1 {
			r.errorf(spec.keys.at, "keys: operations on keys that exist need at least one")
		}
	}
}
