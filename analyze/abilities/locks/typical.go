package locks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/results"
)

// typical is the number that represents the hand-offs in a stage: one for the sentence, the card
// and the figures in a report.
type typical struct {
	// word is its name in a sentence, phrase the same as an adverb, and name the row label.
	word, phrase, name string
	// head is the column heading for it and its percentiles.
	head string
	// q is its quantile; 0 means the mean.
	q  float64
	of func(*results.Spread) int64 // ns
}

// typicalOf is the mean, or the median if one of the records has no mean. Two kinds of hand-offs
// may take turns, and one kind waits for a tick: then the median belongs to either kind by chance.
func typicalOf(all []*locks.Outcome) typical {
	if slices.ContainsFunc(all, lacksMean) {
		return typical{
			word: "median", phrase: "at the median", name: "p50", head: "median hand-off (p99)",
			q: .5, of: func(s *results.Spread) int64 { return s.P50 },
		}
	}
	return typical{
		word: "mean", phrase: "on average", name: "mean", head: "mean hand-off (p50 / p99)",
		of: func(s *results.Spread) int64 { return s.Mean },
	}
}

// cell formats the number, the percentiles that have enough hand-offs, and the hand-off count.
func (t typical) cell(is *results.Spread) string {
	var rest []string
	if t.q == 0 {
		rest = append(rest, ms(is.P50))
	}
	if is.Enough(.99) {
		rest = append(rest, ms(is.P99))
	}
	text := ms(t.of(is))
	if len(rest) > 0 {
		text += " (" + strings.Join(rest, " / ") + ")"
	}
	return fmt.Sprintf("%s, n %s", text, count(is.N))
}

// enough reports whether there are enough hand-offs for the quantile q. The mean, for which q is 0,
// needs no minimum, because the count is shown next to it.
func enough(s *results.Spread, q float64) bool { return q == 0 || s.Enough(q) }

// lacksMean reports whether the record has hand-offs without a mean, as by earlier releases.
func lacksMean(o *locks.Outcome) bool {
	return slices.ContainsFunc(o.Stages, func(s locks.Stage) bool { return s.HandOff != nil && s.HandOff.Mean == 0 })
}

// handedOver reports whether a lock changed hands in a stage while somebody waited.
func handedOver(s *locks.Stage) bool { return s.HandOff != nil }

// ofTrials is "mean of 20 hand-offs", or "means of 3 trials".
func ofTrials(word string, trials int, one string) string {
	if trials > 1 {
		return fmt.Sprintf("%ss of %d trials", word, trials)
	}
	return word + " of " + one
}
