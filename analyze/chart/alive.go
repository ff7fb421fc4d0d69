package chart

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/coreos/dbtester/analyze/run"
)

// A column with the mean over servers has a gap where any server was not sampled, because the mean
// over the others is a different quantity. In a figure, a member's death would end the line for
// good. There the line continues with the remaining members, and a note says so.

// leastAbsence is the number of seconds without a sample that make a member count as gone. Shorter
// absences are missed samples and leave a gap.
const leastAbsence = 3

// joinedSuffix and whichSuffix are the name suffixes of the hidden columns for a quantity. One
// holds the mean, or the largest value, over the members that have a value; the other states which
// members those are, one bit each.
const (
	joinedSuffix = " OF THE SAMPLED"
	whichSuffix  = " SAMPLED"
)

// addAlive adds the hidden columns for a quantity.
func (s *Series) addAlive(name string, q quantity) {
	known := func(row run.Row, n int) (float64, bool) {
		if row[n] == nil {
			return 0, false
		}
		m := q.get(row[n])
		return m.Value, m.Known()
	}
	s.addRows(name+joinedSuffix, 0, q, func(row run.Row) float64 {
		sum, most, n := 0.0, math.Inf(-1), 0.0
		for i := range row {
			if v, ok := known(row, i); ok {
				sum, most, n = sum+v, max(most, v), n+1
			}
		}
		switch {
		case n == 0:
			return math.NaN()
		case q.Largest:
			return most
		}
		return sum / n
	})
	s.columns[len(s.columns)-1].hidden = true
	s.addRows(name+whichSuffix, 0, q, func(row run.Row) float64 {
		var which uint64
		for i := range min(len(row), mostMembers) {
			if _, ok := known(row, i); ok {
				which |= 1 << i
			}
		}
		return float64(which)
	})
	s.columns[len(s.columns)-1].hidden = true
}

// mostMembers is the number of bits in the values of a column.
const mostMembers = 52

// alive returns the values of a quantity as [Series.loaded] does, except that it uses the remaining
// members in seconds in which some are missing. fewer counts the members in such seconds, or is
// nil.
func (s *Series) alive(name string) (values []float64, fewer map[int]int) {
	strict := s.loaded(name)
	joined, which := s.loaded(name+joinedSuffix), s.column(name+whichSuffix)
	members := len(s.run.Machines.Servers)
	if strict == nil || joined == nil || members < 2 || members > mostMembers {
		return strict, nil
	}
	gone := make([]uint64, len(which))
	for n := range members {
		markAbsences(gone, which, n)
	}
	values = slices.Clone(strict)
	all := uint64(1)<<members - 1
	for i := range values {
		if left := all &^ gone[i]; math.IsNaN(strict[i]) && gone[i] != 0 && left != 0 && uint64(which[i])&left == left {
			if fewer == nil {
				fewer = map[int]int{}
			}
			values[i], fewer[i] = joined[i], bits.OnesCount64(left)
		}
	}
	return values, fewer
}

// markAbsences marks the seconds in which the nth member was gone.
func markAbsences(gone []uint64, which []float64, n int) {
	bit := uint64(1) << n
	for first := 0; first < len(which); first++ {
		last := first
		for last < len(which) && uint64(which[last])&bit == 0 {
			last++
		}
		if last-first >= leastAbsence {
			for i := first; i < last; i++ {
				gone[i] |= bit
			}
		}
		first = last
	}
}

// fewerText states when a line covers only some members, and their number.
func fewerText(r *run.Run, s *Series, fewer map[int]int) string {
	first, last, least := math.MaxInt, 0, math.MaxInt
	for i, n := range fewer {
		first, last, least = min(first, i), max(last, i), min(least, n)
	}
	text := fmt.Sprintf("of %d of %d members from %.0f s on", least, len(r.Machines.Servers), middle(r, s.Unix[first]))
	if last+leastAbsence < len(s.Unix) {
		text += fmt.Sprintf(" to %.0f s", middle(r, s.Unix[last]))
	}
	return text + ", because others were not sampled"
}
