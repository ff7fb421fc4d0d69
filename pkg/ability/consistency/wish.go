package consistency

import (
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Wish is the value for the key consistency in a file.
type Wish string

// The wishes. By default, which files may write as auto, answers are judged where possible. On is
// an error elsewhere, except for a load whose operations are never judged.
const (
	ByDefault Wish = ""
	On        Wish = "on"
	Off       Wish = "off"
)

// Keys declares the keys in an experiment file.
func Keys() ability.Single[Wish] {
	return ability.Single[Wish]{
		About: yamlfile.Row{Name: "consistency", Preset: auto, Meaning: "whether every get and put answer is [judged](consistency.md#by-default) while the load runs, and written keys are read back after it; `auto` means where values and keys allow it"},
		Kind:  wishKind(),
		Resolved: func(r *yamlfile.Reader, is Wish, at *yamlfile.Node, d *ability.Database, _ ability.Values) Wish {
			if is == On && d.Load.ValueSize < LeastValue {
				r.Errorf(at, "consistency: values must have at least %d bytes to name the requests that wrote them, got %d", LeastValue, d.Load.ValueSize)
			}
			if is == On && !d.Load.OwnKeys(d.Generators) {
				r.Errorf(at, "consistency: %s: give the load of %s key_law: %s and a number of keys that %d divides, without ranges and transactions of several keys, or no generators", Shared, d.ID, workload.KeysSequential, d.Generators)
			}
			return is
		},
		Shown: func(Wish) bool { return true },
	}
}

// auto is the word for the default in files.
const auto = "auto"

// wishKind accepts true, false or auto.
func wishKind() yamlfile.Kind[Wish] {
	word := yamlfile.TruthOr(auto)
	return yamlfile.Kind[Wish]{
		Unit:   "true, false or auto",
		Schema: yamlfile.Schema{"enum": []any{true, false, auto}},
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) (Wish, bool) {
			switch s, ok := word(r, key, node); s {
			case auto:
				return ByDefault, ok
			case "true":
				return On, ok
			default:
				return Off, ok
			}
		},
		Node: func(w Wish) *yamlfile.Node {
			if w == ByDefault {
				return yamlfile.TextNode(auto)
			}
			return yamlfile.TruthNode(w == On)
		},
	}
}

// MostKeys returns the most keys that are judged by default: first load keys that have memory from
// the beginning, by number, then others as requests take them. If a file asks for a verdict it
// returns 0, which means as many as the judge allows.
func (w Wish) MostKeys() int {
	if w == On {
		return 0
	}
	return 1 << 17
}

// budget bounds the time in which keys are read back. leastBudget is the default for short loads.
const (
	budget      = 30 * time.Second
	leastBudget = 2 * time.Second
)

// Budget bounds the time in which keys are read back. By default it is a twentieth of the load
// duration.
func (w Wish) Budget(length time.Duration) time.Duration {
	if w == On {
		return budget
	}
	return min(max(length/20, leastBudget), budget)
}
