package config

import (
	"cmp"
	"slices"

	"go.yaml.in/yaml/v4"
)

// classicLoad reads benchmark_options and benchmark_steps of one database.
func (r *reader) classicLoad(d *databaseSpec, options, steps *yaml.Node) {
	if steps == nil || isNull(steps) {
		r.errorf(d.at, "%s: benchmark_steps is missing", d.id)
	} else {
		r.classicSteps(steps, &d.steps)
	}
	// Without the stress step the classic tool never looked at the options.
	wanted := d.steps.load.is
	switch {
	case options != nil && !isNull(options):
		r.classicOptions(options, d.entry, &d.load, wanted)
		if !wanted {
			d.load = loadSpec{}
		}
	case wanted:
		r.errorf(d.at, "%s: benchmark_options is missing", d.id)
	}
}

// classicSteps reads the four steps; one that is not named is not taken.
func (r *reader) classicSteps(node *yaml.Node, s *stepsSpec) {
	no := given[bool]{at: node}
	*s = stepsSpec{no, no, no, no}
	r.fields("benchmark_steps", node, keys{
		"step1_start_database":  into(&s.start, r.truth),
		"step2_stress_database": into(&s.load, r.truth),
		"step3_stop_database":   into(&s.stop, r.truth),
		"step4_upload_logs":     into(&s.upload, r.truth),
	})
}

func (r *reader) classicOptions(node *yaml.Node, entry Entry, l *loadSpec, wanted bool) {
	var stale given[bool]
	var numbers given[[]*yaml.Node]
	r.fields("benchmark_options", node, keys{
		"type":                           into(&l.operation, r.oneOf("write", "read", "read-oneshot")),
		"request_number":                 into(&l.requests, r.whole),
		"connection_number":              into(&l.connections, r.small),
		"client_number":                  into(&l.clients, r.small),
		"connection_client_numbers":      into(&numbers, r.items),
		"rate_limit_requests_per_second": into(&l.rate, r.rate),
		"same_key":                       into(&l.sameKey, r.truth),
		"key_size_bytes":                 into(&l.keySize, r.small),
		"value_size_bytes":               into(&l.valueSize, r.small),
		"stale_read":                     into(&stale, r.truth),
	})
	if len(numbers.is) > 0 {
		r.classicStepped(numbers, l)
	}
	if l.operation.is == "read" || l.operation.is == "read-oneshot" {
		r.classicReads(node, entry, stale, l)
	}
	if wanted {
		r.classicNeeds(node, l)
	}
}

// classicStepped makes steps of connection_client_numbers, which replace both
// numbers.
func (r *reader) classicStepped(numbers given[[]*yaml.Node], l *loadSpec) {
	var steps []stepSpec
	for _, item := range numbers.is {
		s := stepSpec{at: item}
		into(&s.clients, r.small)(numbers.key, item)
		s.connections = s.clients
		steps = append(steps, s)
	}
	if l.operation.is != "write" {
		r.warnf(numbers.at, "%s: the classic tool stepped writes only; this load is stepped too", numbers.key)
	}
	l.steps = given[[]stepSpec]{steps, numbers.key, numbers.at}
	l.clients, l.connections = given[int]{}, given[int]{}
}

// classicReads sends all reads to one key, as the classic tool always did, and
// asks for the strongest reads it knew: linearizable ones where the database has
// them.
func (r *reader) classicReads(node *yaml.Node, entry Entry, stale given[bool], l *loadSpec) {
	switch {
	case stale.is:
		l.read = given[string]{"stale", stale.key, stale.at}
	case slices.Contains(entry.Reads, "linearizable"):
		l.read = given[string]{"linearizable", "stale_read", cmp.Or(stale.at, node)}
	}
	if l.sameKey.set() && !l.sameKey.is {
		r.warnf(l.sameKey.at, "same_key: classic reads always go to one key, whatever this says")
	}
	l.sameKey = given[bool]{true, "same_key", cmp.Or(l.sameKey.at, node)}
}

// classicNeeds reports what a load must say, for the classic schema has no
// defaults.
func (r *reader) classicNeeds(node *yaml.Node, l *loadSpec) {
	given := map[string]bool{"client_number": l.steps.set()}
	for _, p := range r.pairs("benchmark_options", node) {
		given[p.key.Value] = true
	}
	for _, key := range []string{"type", "request_number", "client_number", "key_size_bytes", "value_size_bytes"} {
		if !given[key] {
			r.errorf(node, "benchmark_options: %s is missing", key)
		}
	}
}
