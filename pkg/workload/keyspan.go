package workload

import (
	"cmp"
	"math"
	"slices"
)

// KeySpan is the keys with one size whose numbers are at least First and below End, by [AppendKey].
type KeySpan struct {
	Size  int   `json:"key_size"`
	First int64 `json:"first"`
	End   int64 `json:"end"`
}

// KeySpans are keys by their numbers.
type KeySpans []KeySpan

// Has reports whether the spans contain a key.
func (s KeySpans) Has(key []byte) bool {
	return slices.ContainsFunc(s, func(span KeySpan) bool {
		if span.Size < 1 {
			return false
		}
		n, ok := KeyNumber(key, span.Size)
		return ok && n >= span.First && n < span.End
	})
}

// Count returns the number of keys, at most the largest integer.
func (s KeySpans) Count() int64 {
	sum := int64(0)
	for _, span := range s.Add() {
		n := span.End - span.First
		if n > math.MaxInt64-sum {
			return math.MaxInt64
		}
		sum += n
	}
	return sum
}

// Add returns these and more keys, and joins spans that overlap or touch. Empty spans are
// left out.
func (s KeySpans) Add(more ...KeySpan) KeySpans {
	var merged KeySpans
	all := slices.DeleteFunc(slices.Concat(s, more), func(span KeySpan) bool { return span.Size < 1 || span.First < 0 || span.End <= span.First })
	slices.SortFunc(all, func(a, b KeySpan) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.First, b.First))
	})
	for _, span := range all {
		if n := len(merged) - 1; n >= 0 && merged[n].Size == span.Size && span.First <= merged[n].End {
			merged[n].End = max(merged[n].End, span.End)
			continue
		}
		merged = append(merged, span)
	}
	return merged
}
