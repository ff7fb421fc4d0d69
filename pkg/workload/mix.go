package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Share is one operation in a mix.
type Share struct {
	Operation Op `json:"operation"`
	// Weight is relative to the other shares. The smallest share is a thousandth of
	// the load.
	Weight float64 `json:"weight"`
}

const (
	// Block is the number of requests that divides a mix exactly: every block of so many requests
	// holds each operation by its weight.
	Block = 1000
	// MaxMix bounds the operations in one mix: records of requests in flight have three bits for
	// it.
	MaxMix = 8
	// MaxWeight is the largest weight for one operation.
	MaxWeight = 1e9
)

// MixProblem says why a mix cannot be carried out.
type MixProblem struct {
	// Index is the share's index, -1 for the mix as a whole.
	Index int
	Text  string
}

// CheckMix returns every problem in a mix.
func CheckMix(mix []Share) []MixProblem {
	switch {
	case len(mix) == 0:
		return []MixProblem{{-1, "it names no operation"}}
	case len(mix) > MaxMix:
		return []MixProblem{{-1, fmt.Sprintf("%d operations are more than the %d that a load keeps apart", len(mix), MaxMix)}}
	}
	var problems []MixProblem
	report := func(i int, format string, args ...any) {
		problems = append(problems, MixProblem{i, fmt.Sprintf(format, args...)})
	}
	for i, s := range mix {
		if !ValidWeight(s.Weight) {
			report(i, "the weight of %s must be over 0 and at most 1e9, got %v", s.Operation, s.Weight)
		}
		if slices.ContainsFunc(mix[:i], func(o Share) bool { return o.Operation == s.Operation }) {
			report(i, "%s is given twice", s.Operation)
		}
	}
	creating := slices.DeleteFunc(slices.Clone(mix), func(s Share) bool { return !s.Operation.Creates() })
	if len(problems) == 0 && len(creating) > 1 {
		report(-1, "%s and %s both create keys; give one of the two", creating[0].Operation, creating[1].Operation)
	}
	if len(problems) > 0 {
		return problems
	}
	for i, n := range PerBlock(mix) {
		if n == 0 {
			report(i, "%s is less than a thousandth of the load", mix[i].Operation)
		}
	}
	return problems
}

// ValidWeight reports whether w is over 0 and at most [MaxWeight].
func ValidWeight(w float64) bool { return w > 0 && w <= MaxWeight }

// PerBlock returns the requests in every [Block] that each operation in a mix gets. It is 0 for a
// share below one.
func PerBlock(mix []Share) []int64 {
	var sum, upTo float64
	for _, s := range mix {
		sum += s.Weight
	}
	parts := make([]int64, len(mix))
	from := int64(0)
	for i, s := range mix {
		upTo += s.Weight
		end := int64(math.Round(Block * upTo / sum))
		// Rounding must not give a place to a share below one.
		if Block*s.Weight/sum > 1-1e-9 {
			parts[i] = end - from
		}
		from = end
	}
	return parts
}

// Percents returns a mix as text: "95 % read, 5 % update".
func Percents(mix []Share) string {
	var sum float64
	for _, s := range mix {
		sum += s.Weight
	}
	words := make([]string, len(mix))
	for i, s := range mix {
		words[i] = fmt.Sprintf("%.3g %% %s", 100*s.Weight/sum, s.Operation)
	}
	return strings.Join(words, ", ")
}

// Named is a mix with a name and its own key law.
type Named struct {
	Name   string
	KeyLaw KeyLaw
	Mix    []Share
	// RangeLimit is the most keys that a range reads; 0 leaves it to the load.
	RangeLimit int
}

// Workloads returns YCSB's core workloads (Cooper et al., "Benchmarking cloud serving systems with
// YCSB", SoCC 2010) and a Kubernetes API server's workload.
func Workloads() []Named {
	return []Named{
		{Name: "ycsb-a", KeyLaw: KeysZipfian, Mix: []Share{{OpRead, 0.5}, {OpUpdate, 0.5}}},
		{Name: "ycsb-b", KeyLaw: KeysZipfian, Mix: []Share{{OpRead, 0.95}, {OpUpdate, 0.05}}},
		{Name: "ycsb-c", KeyLaw: KeysZipfian, Mix: []Share{{OpRead, 1}}},
		{Name: "ycsb-d", KeyLaw: KeysLatest, Mix: []Share{{OpRead, 0.95}, {OpWrite, 0.05}}},
		{Name: "ycsb-e", KeyLaw: KeysZipfian, Mix: []Share{{OpRange, 0.95}, {OpWrite, 0.05}}},
		{Name: "ycsb-f", KeyLaw: KeysZipfian, Mix: []Share{{OpRead, 0.5}, {OpSwap, 0.5}}},
		// The weights are request counts that were recorded between an API server and etcd;
		// docs/workloads.md describes the recording.
		{Name: "kubernetes", KeyLaw: KeysUniform, Mix: []Share{{OpRead, 1036}, {OpTxn, 792}, {OpCreate, 652}, {OpRange, 59}}, RangeLimit: 500},
	}
}
