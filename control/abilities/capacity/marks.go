package capacity

import (
	declared "github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/stats/capacity"
)

// marksOf returns the marks for searches that ended without a capacity, or during which the cluster
// changed.
func marksOf(c *declared.Result) (list []results.Mark) {
	const late, full = "the client sent too late, or had too few clients, in three windows in a row", "the store was full"
	add := func(invalid bool, values mark.Values, words mark.Words) {
		list = append(list, results.NewMark(mark.Capacity, invalid, values, words))
	}
	ended := mark.Values{"ended_per_second": c.EndedAt}
	switch capacity.Reason(c.Reason) {
	case capacity.Found:
	case capacity.Wide:
		add(false, wide(c), nil)
	case capacity.ClientLimited:
		add(true, ended, mark.Words{"limit": late})
	case capacity.StoreFull:
		add(true, ended, mark.Words{"limit": full})
	case capacity.Stalls:
		values := mark.Values{"windows": float64(c.Counted)}
		if c.Stalled > 0 {
			values["stalled"] = float64(c.Stalled)
		}
		add(false, values, nil)
	case capacity.TooLow:
		add(false, mark.Values{"below_per_second": c.EndedAt}, nil)
	case capacity.TooHigh:
		add(false, mark.Values{"above_per_second": c.EndedAt}, nil)
	default:
		add(true, nil, nil)
	}
	if d := c.Drift; d != nil && !d.Agrees() {
		list = append(list, results.NewMark(mark.Drift, false, mark.Values{"rate_per_second": d.Rate, "first_percent": 100 * (1 - d.First), "last_percent": 100 * (1 - d.Last)}, nil))
	}
	hold := mark.Values{"hold_seconds": c.Hold.Seconds(), "ended_per_second": c.EndedAt}
	switch {
	case c.Hold == 0 || !c.Found() || c.Held > 0:
	case c.Unheld == string(capacity.ClientLimited):
		add(false, hold, mark.Words{"limit": late})
	case c.Unheld == string(capacity.StoreFull):
		add(false, hold, mark.Words{"limit": full})
	default:
		add(false, mark.Values{"holds": float64(c.Holds), "hold_seconds": c.Hold.Seconds()}, nil)
	}
	return list
}

// wide returns the values for a search whose interval stayed wide.
func wide(c *declared.Result) mark.Values {
	values := mark.Values{"windows": float64(c.Counted), "tolerance_percent": float64(c.Tolerance)}
	if c.Low > 0 && c.High >= c.Low {
		values["least_per_second"], values["most_per_second"] = c.Low, c.High
		values["interval_percent"] = 100 * (c.High - c.Low) / c.Low
	}
	return values
}
