package compare

import (
	"fmt"
	"math"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
)

// compareAbilities adds the comparisons that abilities make from the records on both sides.
func (r *Report) compareAbilities() {
	for _, half := range all.Halves() {
		c, ok := half.(abilities.Comparer)
		if !ok {
			continue
		}
		other, notes := c.Compare(r.A.Runs, r.B.Runs)
		r.Notes = append(r.Notes, notes...)
		if other != nil {
			r.others = append(r.others, other)
		}
	}
}

// otherHeader names the columns in an ability's comparison.
func otherHeader(c *abilities.Comparison) []string {
	return []string{c.Heading, "A", "B", "difference"}
}

// otherLines returns the rows in an ability's comparison.
func otherLines(c *abilities.Comparison) (out [][]string) {
	for _, l := range c.Lines {
		out = append(out, []string{l.Name, number(l.A), number(l.B), signedNumber(l.B - l.A)})
	}
	return out
}

// signedNumber prints a difference with three significant digits, never as a power of 10.
func signedNumber(v float64) string {
	switch {
	case math.Abs(v) < .0005:
		return "+0"
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%+.0f", v)
	}
	return fmt.Sprintf("%+.3g", v)
}
