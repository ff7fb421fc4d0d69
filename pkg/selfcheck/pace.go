package selfcheck

import (
	"context"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
)

// Pace is how a rate was kept with clients that do nothing.
type Pace struct {
	Rate    float64 `json:"rate_per_second"`
	Clients int     `json:"clients"`
	// Due requests were due and Sent of them were sent until the end; Queued ones
	// found every client busy.
	Due    int64 `json:"due"`
	Sent   int64 `json:"sent"`
	Queued int64 `json:"queued"`
	// Lateness is how long after they were due requests were sent.
	Lateness results.Spread `json:"lateness"`
	Seconds  float64        `json:"duration_seconds"`
}

// Accurate reports whether the rate was kept: sent per second within one percent
// of due, 99 % of them less than a millisecond late, and none that had to queue. A
// rate whose p99 is of too few requests is not known to be kept.
func (p Pace) Accurate() bool {
	missed := float64(p.Due - p.Sent)
	late := !p.Lateness.Enough(0.99) || p.Lateness.P99 >= int64(time.Millisecond)
	return p.Due > 0 && missed <= 0.01*float64(p.Due) && !late && p.Queued == 0
}

const (
	paceClients = 1000
	// paceTries is how often a rate is tried until it is kept: what else runs on
	// the machine disturbs one try sooner than the next.
	paceTries = 3
	// leastPaced is how many requests a rate is tried with at least: twice as many as
	// p99 needs, since one that is sent without a wait for it has no lateness.
	leastPaced = 2000
)

// paceFor is how long a rate is tried.
func paceFor(rate float64, d time.Duration) time.Duration {
	return max(d, time.Duration(leastPaced/rate*float64(time.Second)))
}

// paceRates are the rates to try, in requests per second.
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

// pace sends at a rate for so long. What is not sent by then is not sent at all.
func pace(ctx context.Context, clients int, rate float64, d time.Duration) (Pace, error) {
	step := load.Step{Clients: clients, Rate: rate, Duration: d}
	_, rec, err := apply(ctx, load.Spec{Timeout: timeout}, step, slices.Repeat([]database.Client{null{}}, clients))
	if err != nil {
		return Pace{}, err
	}
	t := rec.Totals()
	return Pace{
		Rate: rate, Clients: clients, Due: t.Offered, Sent: t.Sent, Queued: t.Queued,
		Lateness: rec.Lateness(), Seconds: d.Seconds(),
	}, nil
}

// highest is the highest rate that was kept, 0 if none was, and those that were
// not.
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
