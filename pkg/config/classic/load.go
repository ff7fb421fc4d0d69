package classic

import (
	"cmp"
	"slices"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

// load reads benchmark_options and benchmark_steps.
func (r *reader) load(d *Database, reads []string, options, steps *yamlfile.Node) {
	if steps == nil || yamlfile.IsNull(steps) {
		r.Errorf(d.At, "%s: benchmark_steps is missing", d.ID)
	} else {
		r.steps(steps, &d.Steps)
	}
	// Without the stress step the classic tool ignored the options.
	wanted := d.Steps.Load.Is
	switch {
	case options != nil && !yamlfile.IsNull(options):
		r.options(options, reads, &d.Load, wanted)
		if !wanted {
			d.Load = Load{}
		}
	case wanted:
		r.Errorf(d.At, "%s: benchmark_options is missing", d.ID)
	}
}

// steps reads the four steps. A step that is not named is not taken.
func (r *reader) steps(node *yamlfile.Node, s *Steps) {
	no := yamlfile.Given[bool]{At: node}
	*s = Steps{no, no, no, no}
	r.Fields("benchmark_steps", node, yamlfile.Keys{
		"step1_start_database":  yamlfile.Into(r.Reader, &s.Start, yamlfile.Truth),
		"step2_stress_database": yamlfile.Into(r.Reader, &s.Load, yamlfile.Truth),
		"step3_stop_database":   yamlfile.Into(r.Reader, &s.Stop, yamlfile.Truth),
		"step4_upload_logs":     yamlfile.Into(r.Reader, &s.Upload, yamlfile.Truth),
	})
}

func (r *reader) options(node *yamlfile.Node, reads []string, l *Load, wanted bool) {
	var stale yamlfile.Given[bool]
	var numbers yamlfile.Given[[]*yamlfile.Node]
	r.Fields("benchmark_options", node, yamlfile.Keys{
		"type":                           yamlfile.Into(r.Reader, &l.Operation, yamlfile.OneOf("write", "read", "read-oneshot")),
		"request_number":                 yamlfile.Into(r.Reader, &l.Requests, yamlfile.Whole),
		"connection_number":              yamlfile.Into(r.Reader, &l.Connections, yamlfile.Small),
		"client_number":                  yamlfile.Into(r.Reader, &l.Clients, yamlfile.Small),
		"connection_client_numbers":      yamlfile.Into(r.Reader, &numbers, (*yamlfile.Reader).Items),
		"rate_limit_requests_per_second": yamlfile.Into(r.Reader, &l.Rate, yamlfile.PerSecond),
		"same_key":                       yamlfile.Into(r.Reader, &l.SameKey, yamlfile.Truth),
		"key_size_bytes":                 yamlfile.Into(r.Reader, &l.KeySize, yamlfile.Small),
		"value_size_bytes":               yamlfile.Into(r.Reader, &l.ValueSize, yamlfile.Small),
		"stale_read":                     yamlfile.Into(r.Reader, &stale, yamlfile.Truth),
	})
	if len(numbers.Is) > 0 {
		r.stepped(numbers, l)
	}
	if l.Operation.Is == "read" || l.Operation.Is == "read-oneshot" {
		r.reads(node, reads, stale, l)
	}
	if wanted {
		r.needs(node, l)
	}
}

// stepped makes steps from connection_client_numbers, which replace both numbers.
func (r *reader) stepped(numbers yamlfile.Given[[]*yamlfile.Node], l *Load) {
	steps := yamlfile.Given[[]yamlfile.Given[int]]{Key: numbers.Key, At: numbers.At}
	for _, item := range numbers.Is {
		clients := yamlfile.Given[int]{}
		yamlfile.Into(r.Reader, &clients, yamlfile.Small)(numbers.Key, item)
		steps.Is = append(steps.Is, clients)
	}
	if l.Operation.Is != "write" {
		r.Warnf(numbers.At, "%s: the classic tool stepped writes only; this load is stepped too", numbers.Key)
	}
	l.ClientSteps = steps
	l.Clients, l.Connections = yamlfile.Given[int]{}, yamlfile.Given[int]{}
}

// reads sends all reads to one key, as the classic tool always did, and asks for
// the strongest reads it knew: linearizable ones where the database has them.
func (r *reader) reads(node *yamlfile.Node, modes []string, stale yamlfile.Given[bool], l *Load) {
	switch {
	case stale.Is:
		l.Read = yamlfile.Given[string]{Is: "stale", Key: stale.Key, At: stale.At}
	case slices.Contains(modes, "linearizable"):
		l.Read = yamlfile.Given[string]{Is: "linearizable", Key: "stale_read", At: cmp.Or(stale.At, node)}
	}
	if l.SameKey.Set() && !l.SameKey.Is {
		r.Warnf(l.SameKey.At, "same_key is ignored: classic reads always go to one key")
	}
	l.SameKey = yamlfile.Given[bool]{Is: true, Key: "same_key", At: cmp.Or(l.SameKey.At, node)}
}

// needs reports required keys that are missing: the schema has no defaults.
func (r *reader) needs(node *yamlfile.Node, l *Load) {
	given := map[string]bool{"client_number": l.ClientSteps.Set()}
	for _, p := range r.Pairs("benchmark_options", node) {
		given[p.Key.Value] = true
	}
	for _, key := range []string{"type", "request_number", "client_number", "key_size_bytes", "value_size_bytes"} {
		if !given[key] {
			r.Errorf(node, "benchmark_options: %s is missing", key)
		}
	}
}
