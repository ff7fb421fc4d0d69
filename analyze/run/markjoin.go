package run

import (
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// Joined are marks that are displayed as one.
type Joined[K comparable] struct {
	// By is the key that the marks share.
	By K
	// Marks has at least one mark, in the original order.
	Marks []Mark
	// Worst is the first mark that no other mark exceeds.
	Worst Mark
}

// JoinMarks joins marks that have the same key, ordered by the first mark with each key.
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

// worse reports whether mark b is worse than mark a. It compares their values; without values or
// with different ones, it compares the percentages in their texts.
func worse(a, b results.Mark) bool {
	form := mark.Form(b.Code, b.Values, b.Words)
	if a.Code == b.Code && mark.Ranked(b.Code, form) && form == mark.Form(a.Code, a.Values, a.Words) {
		return mark.Worse(b.Code, form, a.Values, b.Values)
	}
	return shareInText(b.Text) > shareInText(a.Text)
}
