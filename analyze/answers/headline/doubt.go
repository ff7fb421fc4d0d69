package headline

import (
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/pkg/mark"
)

// Doubt is a mark in the report, classified by whether it could change the order of databases.
type Doubt struct {
	Reason
	// Could means that its effect may be as large as the smallest difference between two databases.
	Could bool `json:"could"`
}

// doubtsOf returns the reasons as doubts, starting with those that could change the order. A shared
// machine is left out, because it is part of the grade.
func doubtsOf(a *answers.Answer, points Points, reasons []Reason) []Doubt {
	doubts := []Doubt{}
	gap := smallestGap(a, points)
	for _, r := range reasons {
		doubts = append(doubts, Doubt{Reason: r, Could: r.Invalid || r.Weakens && r.Code != mark.SharedHost && r.could(gap, a.Kind)})
	}
	slices.SortStableFunc(doubts, func(x, y Doubt) int {
		switch {
		case x.Could == y.Could:
			return 0
		case x.Could:
			return -1
		}
		return 1
	})
	return doubts
}

// smallestGap is the smallest difference between two databases, as a share: from the intervals in
// the claims or, without any, between the numbers at the last point. It is 0 for one database.
func smallestGap(a *answers.Answer, points Points) float64 {
	gap := math.Inf(1)
	for _, c := range a.Claims {
		gap = min(gap, c.Gap)
	}
	if len(a.Claims) == 0 {
		values := lastValues(points, a.Kind == "rate")
		slices.Sort(values)
		for i := 1; i < len(values); i++ {
			gap = min(gap, values[i]/values[i-1]-1)
		}
	}
	if math.IsInf(gap, 1) {
		return 0
	}
	return gap
}

// lastValues returns the p99 latency or throughput of every database at the last point.
func lastValues(p Points, latency bool) (values []float64) {
	rows := p.Rows
	if len(p.Columns) > 1 {
		rows = rows[len(rows)-1:]
	}
	for _, row := range rows {
		for _, c := range row.Cells {
			v := c.Throughput.Value
			if latency {
				v = c.P99.Value
			}
			if c.Valid && v != nil && *v > 0 {
				values = append(values, *v)
			}
		}
	}
	return values
}

// could reports whether a reason may change the compared number by at least this share. In a closed
// loop, delayed answers also lower the throughput. An unknown effect counts as possible.
func (r Reason) could(gap float64, kind string) bool {
	switch {
	case r.Effect.Number == mark.None || kind == "rate" && r.Effect.Number == mark.Throughput:
		return false
	case r.Effect.Share == nil:
		return true
	}
	return *r.Effect.Share > 0 && *r.Effect.Share >= gap
}
