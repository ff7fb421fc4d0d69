// Package consistency declares the verdict on a load's answers: whether one register per key could
// have given them. Package pkg/consistency judges them.
package consistency

import (
	"fmt"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Ability returns the declaration.
func Ability() ability.Ability {
	return ability.Ability{
		Name: "consistency", More: []ability.Keys{Keys()}, Keys: Sampled(), Record: Record(), Observes: []observation.Group{Observed()},
	}
}

// Sampled declares the key in an experiment file for the number of keys whose requests are
// recorded.
func Sampled() ability.Single[int] {
	return ability.Single[int]{
		About: yamlfile.Row{Name: "consistency_sample", Preset: "0", Meaning: fmt.Sprintf("how many keys, up to %d, have their requests recorded: `dbtester consistency --porcupine` [checks](consistency.md) them", MostSampled)},
		Kind:  yamlfile.SmallKind(),
		Resolved: func(r *yamlfile.Reader, is int, at *yamlfile.Node, d *ability.Database, v ability.Values) int {
			wish := Keys().Of(v)
			if is == 0 || wish == Off {
				return 0
			}
			plan := Plan(wish, &d.Load, &d.Info, d.Generators, d.Reuse)
			switch {
			case is > MostSampled:
				r.Errorf(at, "consistency_sample must be at most %d keys, got %d", MostSampled, is)
			case d.Generators > 0:
				r.Errorf(at, "consistency_sample: requests that generators issue are not recorded: leave generators or consistency_sample out of %s", d.ID)
			case wish == ByDefault && plan.Form == Unjudged:
				r.Errorf(at, "consistency_sample: answers of %s are not judged: %s", d.ID, plan.Why)
			}
			return is
		},
		Shown: func(is int) bool { return is > 0 },
	}
}

// LeastValue is the number of bytes that a value needs to name the request that wrote it.
const LeastValue = 16

// Shared is why answers to generators that share keys are not judged.
const Shared = "generators that share keys cannot be judged, as each knows only what it wrote itself and their clocks differ"

// Form is whether and how answers are judged.
type Form string

// The forms.
const (
	// Judged answers have a verdict.
	Judged Form = "verdict"
	// Measured answers come from reads whose mode promises less than linearizability: their
	// staleness is known.
	Measured Form = "staleness"
	// Unjudged answers have neither, for the reason in Why.
	Unjudged Form = "none"
	// Unasked answers have neither, because the file forbids it. In records from releases that
	// judged no load by default, the file did not ask for it. Records from releases without
	// verdicts have no form.
	Unasked Form = "off"
)

// Watched reports whether answers are judged or their staleness is measured.
func (f Form) Watched() bool { return f == Judged || f == Measured }

// Verdict is the entry in a run record.
type Verdict struct {
	Form Form `json:"form"`
	// Why says why there is no verdict; "" if there is one.
	Why string `json:"why,omitempty"`
	// Read is the read mode, and Promise what the database promises for it.
	Read    workload.ReadMode `json:"read,omitempty"`
	Promise string            `json:"promise,omitempty"`
	// Counts cover the whole load.
	Counts consistency.Counts `json:"counts,omitzero"`
	// Parts counts the generators that judged the load, each its own keys; 0 if control did.
	Parts int `json:"parts,omitempty"`
	// Staleness describes stale reads, in nanoseconds; nil without stale reads.
	Staleness *results.Spread `json:"staleness,omitempty"`
	// Held counts the written keys by their state after the load, read back in the mode Back within
	// a time; nil if no key was read. NotReadBack is why some keys were not.
	Held        *consistency.HeldKeys `json:"held,omitempty"`
	Back        workload.ReadMode     `json:"back,omitempty"`
	BackNS      int64                 `json:"back_ns,omitempty"`
	NotReadBack string                `json:"not_read_back,omitempty"`
	// Sampled counts the keys with their requests in [FileHistory].
	Sampled int `json:"sampled,omitempty"`
	// TookNS is the time for which the judge worked, in parallel with the clients. Waits and
	// WaitedNS are about clients that waited for it.
	TookNS   int64 `json:"took_ns,omitempty"`
	Waits    int64 `json:"waits,omitempty"`
	WaitedNS int64 `json:"waited_ns,omitempty"`
	// Since is the Unix time in nanoseconds from which witness times are shown.
	Since int64 `json:"since_unix_ns,omitempty"`
}

// Violations counts the answers that no register gives, 0 without a verdict.
func (v *Verdict) Violations() int64 {
	if v.Form != Judged {
		return 0
	}
	return v.Counts.Violations.All()
}

// Record declares the verdict in run records. Its form is "" in records from releases without
// verdicts.
func Record() ability.Record[Verdict] { return ability.Record[Verdict]{Key: "consistency"} }

// The values by second.
const (
	ValueJudged     = "judged"
	ValueUnjudged   = "unjudged"
	ValueUnnumbered = "unnumbered"
	ValueViolations = "violations"
	ValueStale      = "stale_reads"
	ValueStaleness  = "staleness_ns"
	ValueBack       = "steps_back"
	ValueOpen       = "open_values"
	ValueKeys       = "judged_keys"
)

// Observed declares the values by second. The staleness histogram has one line, for the whole load.
func Observed() observation.Group {
	most := func(name, unit, definition string) observation.Value {
		return observation.Value{Name: name, Unit: unit, Merging: observation.Max, Definition: definition}
	}
	return observation.Group{Name: "consistency", Values: []observation.Value{
		observation.Summed(ValueJudged, "requests", "requests that were judged"),
		observation.Summed(ValueUnjudged, "requests", "requests that were not judged: late ones, those for a key with a late one or for keys beyond the judged ones, and other operations"),
		observation.Summed(ValueUnnumbered, "requests", "reads that returned a value whose writer is not known"),
		observation.Summed(ValueViolations, "requests", "requests that no register would have answered this way; none in a mode that promises less"),
		observation.Summed(ValueStale, "requests", "reads in a mode that promises less that returned a value which had surely been replaced"),
		most(ValueStaleness, "ns", "longest time for which such a value had been replaced, at least"),
		observation.Summed(ValueBack, "requests", "reads in such a mode that returned an older value than an earlier read over the same connection; at least this many"),
		most(ValueOpen, "values", "values that a running request may still read, for keys in the last requests"),
		most(ValueKeys, "keys", "keys that were seen"),
	}}
}
