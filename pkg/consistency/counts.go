package consistency

import (
	"strconv"
	"strings"
)

// Counts count requests, except the last four.
type Counts struct {
	// Operations counts all requests given to the judge. Each is in Judged, Unjudged or Unnumbered.
	Operations int64 `json:"operations"`
	Judged     int64 `json:"judged"`
	// Unjudged requests were late, on a key that had a late request or beyond the judged keys, or
	// had another kind.
	Unjudged int64 `json:"unjudged"`
	// Late requests were sent before a moment that an earlier call had declared complete.
	Late int64 `json:"late"`
	// Unnumbered reads returned values whose writers are not known.
	Unnumbered int64 `json:"unnumbered"`

	Violations

	// StaleReads, in a weaker mode, returned values that had surely been replaced before the reads
	// were sent. They are results, not violations.
	StaleReads int64 `json:"stale_reads,omitempty"`
	// StepsBack is a lower bound for reads, in a weaker mode, that returned an older value than an
	// earlier read by the same client.
	StepsBack int64 `json:"steps_back,omitempty"`
	// Unrecognised reads, in a weaker mode, returned a value that was replaced too long ago to be
	// remembered, or that no request wrote.
	Unrecognised int64 `json:"unrecognised,omitempty"`
	// Forgotten reads are not judged, because the value may come from a write of unknown outcome
	// that is not remembered. They are among Judged.
	Forgotten int64 `json:"forgotten,omitempty"`

	// Staleness is that of the stalest read, in nanoseconds.
	Staleness int64 `json:"staleness_ns,omitempty"`
	Keys      int64 `json:"keys"`
	// OpenZones counts the values, on the keys in the last batch, that running requests may still
	// read. UnknownWrites counts unread writes with unknown outcomes.
	OpenZones     int64 `json:"open_zones"`
	UnknownWrites int64 `json:"unknown_writes,omitempty"`
}

// Violations count answers that no register would have given.
type Violations struct {
	// Stale reads returned a value although a later one was surely in its place.
	Stale int64 `json:"stale"`
	// Lost keys were not found although a value was surely written and never deleted.
	Lost int64 `json:"lost"`
	// Phantom values were read although their write had failed, was not yet sent, or never was.
	Phantom int64 `json:"phantom"`
	// Resurrected values were read after a delete.
	Resurrected int64 `json:"resurrected"`
	// DoubleSwaps replaced a value that another swap had replaced.
	DoubleSwaps int64 `json:"double_swaps"`
}

// All returns the total.
func (v Violations) All() int64 {
	return v.Stale + v.Lost + v.Phantom + v.Resurrected + v.DoubleSwaps
}

// AppliedTwice returns the violations that remain certain if a client may have applied any write
// twice, the second time at any later moment: values that no request wrote, and keys that are missing
// although the load never deletes. Values that were replaced may then be there again.
func (v Violations) AppliedTwice(deletes bool) Violations {
	certain := Violations{Phantom: v.Phantom}
	if !deletes {
		certain.Lost = v.Lost
	}
	return certain
}

// String lists the classes that occurred and their numbers: "stale read 3, phantom 1".
func (v Violations) String() string {
	var parts []string
	for _, c := range Classes() {
		if n := *v.of(c); n > 0 {
			parts = append(parts, string(c)+" "+strconv.FormatInt(n, 10))
		}
	}
	return strings.Join(parts, ", ")
}

func (v *Violations) of(c Class) *int64 {
	switch c {
	case StaleValue:
		return &v.Stale
	case LostValue:
		return &v.Lost
	case ResurrectedValue:
		return &v.Resurrected
	case DoubleSwap:
		return &v.DoubleSwaps
	}
	return &v.Phantom
}

// Add adds counts from a later call. Keys, OpenZones and UnknownWrites become the later ones, and
// Staleness the greatest.
func (c *Counts) Add(s *Counts) {
	c.Operations += s.Operations
	c.Judged += s.Judged
	c.Unjudged += s.Unjudged
	c.Late += s.Late
	c.Unnumbered += s.Unnumbered
	for _, class := range Classes() {
		*c.of(class) += *s.of(class)
	}
	c.StaleReads += s.StaleReads
	c.StepsBack += s.StepsBack
	c.Unrecognised += s.Unrecognised
	c.Forgotten += s.Forgotten
	c.Staleness = max(c.Staleness, s.Staleness)
	c.Keys, c.OpenZones, c.UnknownWrites = s.Keys, s.OpenZones, s.UnknownWrites
}
