package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// maxMix is how many operations one load can keep apart in its records.
const maxMix = 8

// keyLaws are the words for which existing key an operation takes.
func keyLaws() []string { return []string{"sequential", "uniform", "zipfian", "latest"} }

// workload is a mix with a name.
type workload struct {
	name, keyLaw string
	mix          []Share
}

// workloads are the core workloads of YCSB (Cooper et al., "Benchmarking cloud
// serving systems with YCSB", SoCC 2010).
func workloads() []workload {
	return []workload{
		{"ycsb-a", "zipfian", []Share{{"read", 0.5}, {"update", 0.5}}},
		{"ycsb-b", "zipfian", []Share{{"read", 0.95}, {"update", 0.05}}},
		{"ycsb-c", "zipfian", []Share{{"read", 1}}},
		{"ycsb-d", "latest", []Share{{"read", 0.95}, {"write", 0.05}}},
		{"ycsb-e", "zipfian", []Share{{"range", 0.95}, {"write", 0.05}}},
		{"ycsb-f", "zipfian", []Share{{"read", 0.5}, {"swap", 0.5}}},
	}
}

func workloadNames() []string {
	var names []string
	for _, w := range workloads() {
		names = append(names, w.name)
	}
	return names
}

// Operations are what the load does, in the order of the file.
func (l Load) Operations() []string {
	if len(l.Mix) == 0 {
		return []string{l.Operation}
	}
	ops := make([]string, len(l.Mix))
	for i, s := range l.Mix {
		ops[i] = s.Operation
	}
	return ops
}

// Does says in words what the load does: "write", "95 % read, 5 % update" or
// "ycsb-b (95 % read, 5 % update)".
func (l Load) Does() string {
	switch {
	case len(l.Mix) == 0:
		return l.Operation
	case l.Workload == "":
		return percents(l.Mix)
	}
	return l.Workload + " (" + percents(l.Mix) + ")"
}

// percents is a mix in words.
func percents(mix []Share) string {
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

// Stretches are the steps of the load; one without steps is one stretch.
func (l Load) Stretches() []Step {
	if len(l.Steps) > 0 {
		return l.Steps
	}
	return []Step{{
		Clients: l.Clients, Connections: l.Connections, Requests: l.Requests, Duration: l.Duration,
		Rate: l.Rate, RateEnd: l.RateEnd, Ramp: l.Ramp,
	}}
}

// rated reports whether a stretch of the load has a rate.
func (l Load) rated() bool {
	return slices.ContainsFunc(l.Stretches(), func(s Step) bool { return s.Rate > 0 })
}

// needsKeys reports whether an operation of the load takes keys that exist.
func (l Load) needsKeys() bool {
	return slices.ContainsFunc(l.Operations(), func(op string) bool { return op != "write" })
}

// keyNumbers is how many numbers keys are made of when the load has so many
// requests. Requests are mixed in blocks of a thousand, so the last block may
// number keys that no request is left for.
func (l Load) keyNumbers(requests int64) int64 {
	if l.SameKey {
		return 1
	}
	const enough = 1 << 62 // as long in digits as any number here, and two of it fit
	keys, created := min(l.Keys, enough), min(requests, enough-1000)
	switch {
	case !l.needsKeys():
		return keys + created
	case len(l.Mix) == 0:
		return keys
	}
	writes := slices.IndexFunc(l.Mix, func(s Share) bool { return s.Operation == "write" })
	if writes < 0 {
		return keys
	}
	return keys + (created+999)/1000*thousandths(l.Mix)[writes]
}

// thousandths are how many of every thousand requests each operation of a mix
// gets.
func thousandths(mix []Share) []int64 {
	var sum, upTo float64
	for _, s := range mix {
		sum += s.Weight
	}
	parts := make([]int64, len(mix))
	from := int64(0)
	for i, s := range mix {
		upTo += s.Weight
		end := int64(math.Round(1000 * upTo / sum))
		// Rounding must not give a place to what is less than one.
		if 1000*s.Weight/sum > 1-1e-9 {
			parts[i] = end - from
		}
		from = end
	}
	return parts
}
