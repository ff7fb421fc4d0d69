package config

import (
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// loadKeys are the keys of a load and what they fill. A size of values may be a
// range, which is two of them.
func (r *reader) loadKeys(l *loadSpec, valueSizes *given[[2]int]) keys {
	return keys{
		"operation":      into(&l.operation, r.oneOf(r.catalog.operations()...)),
		"mix":            into(&l.mix, r.mix),
		"workload":       into(&l.workload, r.oneOf(workloadNames()...)),
		"keys":           into(&l.keys, r.whole),
		"key_law":        into(&l.keyLaw, r.oneOf(keyLaws()...)),
		"range_limit":    into(&l.rangeLimit, r.small),
		"requests":       into(&l.requests, r.whole),
		"duration":       into(&l.duration, r.duration),
		"clients":        func(k string, n *yaml.Node) { r.clients(k, n, l) },
		"connections":    into(&l.connections, r.small),
		"steps":          into(&l.steps, r.loadSteps),
		"rate":           into(&l.rate, r.rate),
		"rate_end":       into(&l.rateEnd, r.rate),
		"ramp":           into(&l.ramp, r.duration),
		"arrival":        into(&l.arrival, r.oneOf("constant", "poisson")),
		"backlog":        into(&l.backlog, r.oneOf("keep", "shed")),
		"key_size":       into(&l.keySize, r.size),
		"value_size":     into(valueSizes, r.sizeRange),
		"value_size_max": into(&l.valueSizeMax, r.size),
		"same_key":       into(&l.sameKey, r.truth),
		"read":           into(&l.read, r.oneOf(r.catalog.reads()...)),
		"timeout":        into(&l.timeout, r.duration),
		"drain":          into(&l.drain, r.duration),
		"warm_up":        into(&l.warmUp, r.duration),
		"cool_down":      into(&l.coolDown, r.duration),
		"target":         into(&l.target, r.text),
	}
}

// stepKeys are the keys of a step and what they fill.
func (r *reader) stepKeys(s *stepSpec) keys {
	return keys{
		"clients":     into(&s.clients, r.small),
		"connections": into(&s.connections, r.small),
		"requests":    into(&s.requests, r.whole),
		"duration":    into(&s.duration, r.duration),
		"rate":        into(&s.rate, r.rate),
		"rate_end":    into(&s.rateEnd, r.rate),
		"ramp":        into(&s.ramp, r.duration),
	}
}

func (r *reader) load(node *yaml.Node, l *loadSpec) {
	var valueSizes given[[2]int]
	r.fields("load", node, r.loadKeys(l, &valueSizes))
	if l.clients.set() && l.steps.set() {
		r.errorf(l.clients.at, "clients: steps (line %d) say how many clients there are; give one of the two", l.steps.at.Line)
	}
	if valueSizes.set() {
		r.valueSizes(valueSizes, l)
	}
	r.oneMeaning(l)
}

// valueSizes takes a size of values, which is a range if its ends differ.
func (r *reader) valueSizes(g given[[2]int], l *loadSpec) {
	low, high := g.is[0], g.is[1]
	l.valueSize = given[int]{low, g.key, g.at}
	switch {
	case high == low:
	case l.valueSizeMax.set():
		r.errorf(l.valueSizeMax.at, "value_size_max: value_size (line %d) is a range; give one of the two", g.at.Line)
	default:
		l.valueSizeMax = given[int]{high, g.key, g.at}
	}
}

// oneMeaning reports what says again what a load does.
func (r *reader) oneMeaning(l *loadSpec) {
	places := written(l.operation.place(), l.mix.place(), l.workload.place())
	for i := 1; i < len(places); i++ {
		r.errorf(places[i].at, "%s: %s (line %d) says what the load does; give one of operation, mix and workload",
			places[i].key, places[0].key, places[0].at.Line)
	}
}

// mix reads the operations of a load and their weights, in the order of the file.
func (r *reader) mix(key string, node *yaml.Node) ([]shareSpec, bool) {
	before := len(r.problems)
	known := r.catalog.operations()
	var mix []shareSpec
	for _, p := range r.pairs(key, node) {
		if !slices.Contains(known, p.key.Value) {
			r.errorf(p.key, "%s: unknown operation %q%s", key, p.key.Value, hint(p.key.Value, known))
			continue
		}
		if weight, ok := r.weight("the weight of "+p.key.Value, p.value); ok {
			mix = append(mix, shareSpec{Share{p.key.Value, weight}, p.key})
		}
	}
	if len(r.problems) == before {
		r.shares(key, node, mix)
	}
	return mix, len(r.problems) == before
}

// shares checks that the operations of a mix can be kept apart.
func (r *reader) shares(key string, node *yaml.Node, mix []shareSpec) {
	switch {
	case len(mix) == 0:
		r.errorf(node, "%s: it names no operation", key)
		return
	case len(mix) > maxMix:
		r.errorf(node, "%s: %d operations are more than the %d that a load keeps apart", key, len(mix), maxMix)
		return
	}
	for i, n := range thousandths(sharesOf(mix)) {
		if n == 0 {
			r.errorf(mix[i].at, "%s: %s is less than a thousandth of the load", key, mix[i].Operation)
		}
	}
}

// weight reads how much of a mix an operation is.
func (r *reader) weight(key string, node *yaml.Node) (float64, bool) {
	f, ok := r.number(key, node)
	if ok && (math.IsNaN(f) || f <= 0 || f > 1e9) {
		r.errorf(node, "%s: %s is not over 0 and at most 1e9", key, node.Value)
		return 0, false
	}
	return f, ok
}

// sizeRange reads a number of bytes, or two with a dash between: 256B-4KiB.
func (r *reader) sizeRange(key string, node *yaml.Node) ([2]int, bool) {
	low, high, ranged := strings.Cut(node.Value, "-")
	if low == "" || !ranged || node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" {
		n, ok := r.size(key, node)
		return [2]int{n, n}, ok
	}
	from, ok := byteCount(strings.TrimSpace(low))
	to, okTo := byteCount(strings.TrimSpace(high))
	switch {
	case !ok || !okTo:
		r.errorf(node, "%s: want a size such as 1KiB, or two such as 256B-4KiB, got %s", key, describe(node))
	case to < from:
		r.errorf(node, "%s: %d is less than %d: the smaller size comes first", key, to, from)
	default:
		return [2]int{from, to}, true
	}
	return [2]int{}, false
}

// clients is a number, or a list of numbers that is short for steps.
func (r *reader) clients(key string, node *yaml.Node, l *loadSpec) {
	if node.Kind != yaml.SequenceNode {
		into(&l.clients, r.small)(key, node)
		return
	}
	items, _ := r.items(key, node)
	var steps []stepSpec
	for _, item := range items {
		s := stepSpec{at: item}
		into(&s.clients, r.small)(key, item)
		steps = append(steps, s)
	}
	if l.steps.set() {
		r.errorf(node, "clients: a list of clients is short for steps (line %d); give one of the two", l.steps.at.Line)
	}
	l.steps = given[[]stepSpec]{steps, key, node}
}

func (r *reader) loadSteps(key string, node *yaml.Node) ([]stepSpec, bool) {
	items, ok := r.items(key, node)
	if !ok {
		return nil, false
	}
	var steps []stepSpec
	for _, item := range items {
		s := stepSpec{at: item}
		r.fields("step", item, r.stepKeys(&s))
		steps = append(steps, s)
	}
	return steps, true
}
