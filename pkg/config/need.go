package config

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// needSection declares what the reader needs from a database.
func needSection() section[workload.Need] {
	return section[workload.Need]{
		Fields: []field[workload.Need]{
			key[workload.Need, float64]{
				Row:  row{Name: "rate", Usually: "required", Meaning: "requests per second, such as `5000/s`"},
				Kind: frequency(), At: func(n *workload.Need) *float64 { return &n.Rate },
			}.Field(),
			key[workload.Need, time.Duration]{
				Row:  row{Name: "latency", Preset: "20ms", Meaning: "largest response time, from when a request was due, at the percentile `at`"},
				Kind: yamlfile.DurationKind(), At: func(n *workload.Need) *time.Duration { return &n.Latency },
			}.Field(),
			key[workload.Need, workload.Percentile]{
				Row:  row{Name: "at", Preset: "p99", Meaning: "`p50`, `p90`, `p95`, `p99`, `p99.9` or `p99.99` of all requests that were due"},
				Kind: yamlfile.WordKind(workload.Percentiles()...), At: func(n *workload.Need) *workload.Percentile { return &n.At },
			}.Field(),
			key[workload.Need, workload.Percent]{
				Row:  row{Name: "errors", Preset: "0.1%", Meaning: "largest share of the requests that were due and not answered ok"},
				Kind: ability.PercentKind(), At: func(n *workload.Need) *workload.Percent { return &n.Errors },
			}.Field(),
		},
		Check: func(r *yamlfile.Reader, w *written[workload.Need]) {
			switch rate, latency := w.NodeOf("rate"), w.NodeOf("latency"); {
			case rate == nil && !yamlfile.HasKey(w.Node, "rate"):
				r.Errorf(w.Node, "need: rate is missing, such as {rate: 5000/s}")
			case rate != nil && w.Is.Rate == 0:
				r.Errorf(rate, "need: rate must be positive, got 0")
			case latency != nil && w.Is.Latency == 0:
				r.Errorf(latency, "need: latency must be positive, got 0s")
			}
		},
	}
}

// frequency is a number of requests per second, with or without "/s".
func frequency() kind[float64] {
	const want = "a rate such as 5000/s"
	return kind[float64]{
		Unit: "requests/s",
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) (float64, bool) {
			number, per := strings.CutSuffix(node.Value, "/s")
			if !yamlfile.IsText(node) || !per {
				return yamlfile.PerSecond(r, key, node)
			}
			f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err != nil || math.IsNaN(f) || f < 0 || f > 1e9 {
				r.Errorf(node, "%s: want %s, from 0 to 1e9, got %s", key, want, yamlfile.Describe(node))
				return 0, false
			}
			return f, true
		},
		Node:   func(f float64) *yamlfile.Node { return yamlfile.TextNode(strconv.FormatFloat(f, 'f', -1, 64) + "/s") },
		Schema: schema{"anyOf": []schema{{"type": "number", "minimum": 0, "maximum": 1e9}, {"type": "string", "pattern": `^[0-9]+(\.[0-9]+)? */s$`}}},
	}
}

// needField declares the key in a file: a single rate, or a mapping.
func needField() field[fileSpec] {
	f := part[fileSpec, workload.Need]{
		Row: row{Name: "need", Unit: "requests/s or mapping",
			Meaning: "what a database must [meet](sweep.md#choose): a rate such as `5000/s`, or a mapping with the [`need` keys](sweep.md#keys-of-need)"},
		Section: needSection(), At: func(f *fileSpec) *written[workload.Need] { return &f.need },
		Node: func(f *fileSpec) *yamlfile.Node {
			if f.Need == nil {
				return nil
			}
			return needSection().Show(f.Need).Flow()
		},
	}.Field()
	f.Schema = func() schema { return schema{"anyOf": []schema{frequency().Schema, needSection().Schema()}} }
	f.Read = func(r *yamlfile.Reader, path, key string, node *yamlfile.Node, w *written[fileSpec]) bool {
		w.Is.need = readNeed(r, path, key, node)
		return true
	}
	return f
}

// readNeed reads a rate, or a mapping.
func readNeed(r *yamlfile.Reader, path, key string, node *yamlfile.Node) written[workload.Need] {
	if !yamlfile.IsScalar(node) {
		return needSection().Read(r, path, key, node)
	}
	w := needSection().None()
	w.Node = node
	if rate, ok := frequency().Parse(r, key, node); ok {
		w.Is.Rate = rate
		w.Give("rate", yamlfile.Place{Key: key, At: node})
		if rate == 0 {
			r.Errorf(node, "need: rate must be positive, got 0")
		}
	}
	return w
}

// resolvedNeed returns the need that the file gives, or nil.
func (f *fileSpec) resolvedNeed() *workload.Need {
	if !f.need.Given() {
		return nil
	}
	is := needSection().Filled(f.need)
	return &is
}

// ParseNeed reads a need as in a file: "5000/s", or "rate: 5000/s, latency: 10ms".
func ParseNeed(text string) (*workload.Need, error) {
	if strings.Contains(text, ":") && !strings.HasPrefix(strings.TrimSpace(text), "{") {
		text = "{" + text + "}"
	}
	r := yamlfile.New("need")
	root := r.Document([]byte(text))
	if root == nil {
		return nil, r.Err()
	}
	f := fileSpec{need: readNeed(r, "", "need", root)}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return f.resolvedNeed(), nil
}
