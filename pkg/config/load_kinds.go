package config

import (
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

func sharesOf(mix []shareSpec) []workload.Share {
	shares := make([]workload.Share, len(mix))
	for i, s := range mix {
		shares[i] = s.Share
	}
	return shares
}

// mix holds operations and their weights, in file order.
func mix(c Catalog) kind[[]shareSpec] {
	known := c.operations()
	return kind[[]shareSpec]{
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) ([]shareSpec, bool) {
			return readMix(r, key, node, known)
		},
		Node: func(mix []shareSpec) *yamlfile.Node {
			var m yamlfile.Mapping
			for _, s := range mix {
				m.Add(string(s.Operation), yamlfile.NumberNode(s.Weight))
			}
			return m.Flow()
		},
		Schema: schema{
			"type": "object", "minProperties": 1, "maxProperties": workload.MaxMix,
			"propertyNames":        schema{"enum": yamlfile.Words(known)},
			"additionalProperties": schema{"type": "number", "exclusiveMinimum": 0, "maximum": workload.MaxWeight},
		},
	}
}

func readMix(r *yamlfile.Reader, key string, node *yamlfile.Node, known []workload.Op) ([]shareSpec, bool) {
	before := r.Errors()
	var mix []shareSpec
	for _, p := range r.Pairs(key, node) {
		op := workload.Op(p.Key.Value)
		if !slices.Contains(known, op) {
			r.Errorf(p.Key, "%s: unknown operation %q%s", key, p.Key.Value, yamlfile.Hint(p.Key.Value, yamlfile.Words(known)))
			continue
		}
		if weight, ok := readWeight(r, "the weight of "+p.Key.Value, p.Value); ok {
			mix = append(mix, shareSpec{workload.Share{Operation: op, Weight: weight}, p.Key})
		}
	}
	if r.Errors() > before {
		return nil, false
	}
	for _, p := range workload.CheckMix(sharesOf(mix)) {
		at := node
		if p.Index >= 0 {
			at = mix[p.Index].at
		}
		r.Errorf(at, "%s: %s", key, p.Text)
	}
	return mix, r.Errors() == before
}

func readWeight(r *yamlfile.Reader, key string, node *yamlfile.Node) (float64, bool) {
	f, ok := yamlfile.Number(r, key, node)
	if ok && (math.IsNaN(f) || !workload.ValidWeight(f)) {
		r.Errorf(node, "%s must be over 0 and at most 1e9, got %s", key, node.Value)
		return 0, false
	}
	return f, ok
}

func workloadNames() []string {
	var names []string
	for _, w := range workload.Workloads() {
		names = append(names, w.Name)
	}
	return names
}

// showWorkload shows a workload name, and its mix as a comment.
func showWorkload(l *loadSpec) *yamlfile.Node {
	if l.Workload == "" {
		return nil
	}
	node := yamlfile.TextNode(l.Workload)
	node.LineComment = workload.Percents(l.Mix)
	return node
}

// rangedSize is one size, or two with a dash: 256B-4KiB.
func rangedSize() kind[int] {
	k := yamlfile.SizeKind()
	k.Schema = schema{"anyOf": []schema{{"type": "integer", "minimum": 0},
		{"type": "string", "pattern": `^[0-9.]+ *([KMG]i?)?B?( *- *[0-9.]+ *([KMG]i?)?B?)?$`}}}
	return k
}

// readSizes reads a value_size. [checkSizes] stores it.
func readSizes(r *yamlfile.Reader, path, key string, node *yamlfile.Node, w *written[loadSpec]) bool {
	yamlfile.Into(r, &w.Is.sizes, sizeRange)(key, node)
	r.Record(path, node)
	return false
}

// sizeRange reads one size, or two with a dash, the smaller first.
func sizeRange(r *yamlfile.Reader, key string, node *yamlfile.Node) ([2]int, bool) {
	low, high, ranged := strings.Cut(node.Value, "-")
	if low == "" || !ranged || !yamlfile.IsText(node) {
		n, ok := yamlfile.Size(r, key, node)
		return [2]int{n, n}, ok
	}
	from, ok := yamlfile.Bytes(strings.TrimSpace(low))
	to, okTo := yamlfile.Bytes(strings.TrimSpace(high))
	switch {
	case !ok || !okTo:
		r.Errorf(node, "%s: want a size such as 1KiB, or two such as 256B-4KiB, got %s", key, yamlfile.Describe(node))
	case to < from:
		r.Errorf(node, "%s: %d is less than %d: the smaller size comes first", key, to, from)
	default:
		return [2]int{from, to}, true
	}
	return [2]int{}, false
}

// checkSizes stores the value size, which is a range if its ends differ.
func checkSizes(r *yamlfile.Reader, w *written[loadSpec]) {
	g := w.Is.sizes
	if !g.Set() {
		return
	}
	low, high := g.Is[0], g.Is[1]
	w.Is.ValueSize = low
	w.Give("value_size", g.Place())
	switch end := w.NodeOf("value_size_max"); {
	case high == low:
	case end != nil:
		r.Errorf(end, "value_size_max: value_size (line %d) is a range; give one of the two", g.At.Line)
	default:
		w.Is.ValueSizeMax = high
		w.Give("value_size_max", g.Place())
	}
}

// clientCount is a number of clients or a list of numbers.
func clientCount() kind[int] {
	k := yamlfile.SmallKind()
	k.Schema = schema{"anyOf": []schema{k.Schema, {"type": "array", "items": k.Schema}}}
	return k
}

// readClients reads a number of clients, or a list of numbers as a shorthand for
// steps.
func readClients(r *yamlfile.Reader, path, key string, node *yamlfile.Node, w *written[loadSpec]) bool {
	if !yamlfile.IsList(node) {
		n, ok := yamlfile.Small(r, key, node)
		if ok {
			w.Is.Clients = n
		}
		return ok
	}
	items, _ := r.Items(key, node)
	steps := []written[workload.Step]{}
	for _, item := range items {
		step := stepSection().None()
		step.Node = item
		if n, ok := yamlfile.Small(r, key, item); ok {
			step.Is.Clients = n
			step.Give("clients", yamlfile.Place{Key: key, At: item})
		}
		steps = append(steps, step)
	}
	if given := w.NodeOf("steps"); given != nil {
		r.Errorf(node, "clients: a list of clients is short for steps (line %d); give one of the two", given.Line)
	}
	w.Is.steps = steps
	w.Give("steps", yamlfile.Place{Key: key, At: node})
	r.Record(path, node)
	return false
}
