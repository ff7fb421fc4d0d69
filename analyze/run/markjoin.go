package run

import (
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// Joined are marks that are shown as one.
type Joined[K comparable] struct {
	// By is what they have in common.
	By K
	// Marks are in the order in which they were given, at least one.
	Marks []Mark
	// Worst is the first of those of which none is worse.
	Worst Mark
}

// JoinMarks joins marks that have the same in common, in the order of the first of each.
func JoinMarks[K comparable](marks []Mark, by func(Mark) K) (list []Joined[K]) {
	at := map[K]int{}
	for _, m := range marks {
		key := by(m)
		i, known := at[key]
		if !known {
			i, at[key] = len(list), len(list)
			list = append(list, Joined[K]{By: key, Worst: m})
		}
		one := &list[i]
		one.Marks = append(one.Marks, m)
		if worse(one.Worst.Mark, m.Mark) {
			one.Worst = m
		}
	}
	return list
}

// worse reports whether the second of two marks is worse than the first: by their values, or
// by the shares in their texts where they say different things or have no values.
func worse(a, b results.Mark) bool {
	form := mark.Form(b.Code, b.Values, b.Words)
	if a.Code == b.Code && mark.Ranked(b.Code, form) && form == mark.Form(a.Code, a.Values, a.Words) {
		return mark.Worse(b.Code, form, a.Values, b.Values)
	}
	return shareInText(b.Text) > shareInText(a.Text)
}
