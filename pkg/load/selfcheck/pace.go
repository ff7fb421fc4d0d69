package selfcheck

import (
	"context"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Pace describes whether a rate was kept by clients that answer at once.
type Pace struct {
	Rate    float64 `json:"rate_per_second"`
	Clients int     `json:"clients"`
	// Due and Sent count requests due, or sent, before the end. Queued counts requests that found
	// every client busy.
	Due    int64 `json:"due"`
	Sent   int64 `json:"sent"`
	Queued int64 `json:"queued"`
	// Lateness is the time from due to sent, for requests that did not queue.
	Lateness results.Spread `json:"lateness"`
	Seconds  float64        `json:"duration_seconds"`
}

// Accurate reports whether the rate was kept: sent within one percent of due, 99 % of the
// requests less than a millisecond late, and no request queued. With too few requests for a p99
// the rate counts as not kept.
func (p Pace) Accurate() bool {
	missed := float64(p.Due - p.Sent)
	late := !p.Lateness.Enough(0.99) || p.Lateness.P99 >= int64(time.Millisecond)
	return p.Due > 0 && missed <= 0.01*float64(p.Due) && !late && p.Queued == 0
}

const (
	paceClients = 1000
	// paceTries is the number of times that a rate is tried until it is kept: other load on the
	// machine may disturb a single try.
	paceTries = 3
	// leastPaced is the fewest requests in a try: twice as many as a p99 needs, because a request
	// sent without a wait has no lateness.
	leastPaced = 2000
)

// paceFor returns the try duration: d, or longer for leastPaced requests.
func paceFor(rate float64, d time.Duration) time.Duration {
	return max(d, time.Duration(leastPaced/rate*float64(time.Second)))
}

// paceRates returns the rates to try, in requests per second.
func paceRates() []float64 {
	return []float64{1e3, 2e3, 5e3, 10e3, 20e3, 50e3, 100e3, 200e3, 500e3, 1e6}
}

// paces tries rates until two in a row are not kept.
func paces(ctx context.Context, d time.Duration) ([]Pace, error) {
	var list []Pace
	for missed := 0; missed < 2 && len(list) < len(paceRates()); {
		p, err := paceBest(ctx, paceRates()[len(list)], d)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
		missed++
		if p.Accurate() {
			missed = 0
		}
	}
	return list, nil
}

// paceBest tries a rate until it is kept and returns the last try.
func paceBest(ctx context.Context, rate float64, d time.Duration) (p Pace, err error) {
	for range paceTries {
		if p, err = pace(ctx, paceClients, rate, paceFor(rate, d)); err != nil || p.Accurate() {
			break
		}
	}
	return p, err
}

// pace sends at a rate for a duration. Requests not sent by then are dropped.
func pace(ctx context.Context, clients int, rate float64, d time.Duration) (Pace, error) {
	step := load.Step{Step: workload.Step{Clients: clients, Rate: rate, Duration: d}}
	_, rec, err := apply(ctx, load.Spec{Load: workload.Load{Limits: workload.Limits{Timeout: timeout}}}, step, slices.Repeat([]database.Client{null{}}, clients))
	if err != nil {
		return Pace{}, err
	}
	t := rec.Totals()
	return Pace{
		Rate: rate, Clients: clients, Due: t.Offered, Sent: t.Sent, Queued: t.Queued,
		Lateness: rec.Lateness(), Seconds: d.Seconds(),
	}, nil
}

// highest returns the highest rate kept, 0 if no rate was, and the rates not kept.
func highest(list []Pace) (kept float64, missed []float64) {
	for _, p := range list {
		if p.Accurate() {
			kept = max(kept, p.Rate)
		} else {
			missed = append(missed, p.Rate)
		}
	}
	return kept, missed
}
