package load

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// accounts add up the rows of flushed seconds. One goroutine at a time adds rows; any goroutine may
// read totals and keys.
type accounts struct {
	ops     []workload.Op
	creates int // index of the operation that creates keys, or -1

	// For the running step, by operation: requests sent; requests due, but neither sent nor given
	// up; and requests sent and not ended.
	sent, backlog, inFlight []int64

	// mu guards the fields below, which count over all steps.
	mu      sync.Mutex
	counts  results.Totals
	created int64 // keys
	perhaps int64 // further keys that may have been created
}

func newAccounts(ops []workload.Op) *accounts {
	return &accounts{
		ops: ops, creates: slices.IndexFunc(ops, workload.Op.Creates),
		sent: make([]int64, len(ops)), backlog: make([]int64, len(ops)), inFlight: make([]int64, len(ops)),
	}
}

// begin starts a step.
func (a *accounts) begin() {
	clear(a.sent)
	clear(a.backlog)
	clear(a.inFlight)
}

// add adds a second's rows and the bytes that its requests read.
func (a *accounts) add(rows []results.Interval, read int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.BytesRead += read
	for n := range rows {
		a.addRow(&rows[n])
	}
}

func (a *accounts) addRow(row *results.Interval) {
	a.counts.Add(row)
	o := slices.Index(a.ops, workload.Op(row.Operation))
	a.backlog[o] += row.Due - row.Sent - row.Shed - row.Unsent
	a.sent[o] += row.Sent
	a.inFlight[o] += row.Sent - row.OK - row.Failed - row.Unknown
	if o == a.creates {
		a.created += row.OK
		a.perhaps += row.Unknown
	}
}

// offer corrects the due count of the last rows in a closed loop. Until then its rows use sent as
// due; used counts the requests that its schedule handed out, by operation.
func (a *accounts) offer(rows []results.Interval, used []int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for o, op := range a.ops {
		more := used[o] - a.sent[o]
		lastOf(rows, string(op)).Due += more
		a.counts.Offered += more
		a.backlog[o] += more
	}
}

// settle returns an error unless every request offered in a step was sent or given up, and every
// request sent ended. The two sides are counted independently, one from the schedule's numbers
// and the other from requests, so a request lost or sent twice shows.
func (a *accounts) settle(step int) error {
	var errs []error
	for o, op := range a.ops {
		if a.backlog[o] != 0 || a.inFlight[o] != 0 {
			errs = append(errs, fmt.Errorf("account for step %d: every %s request must be counted once, but %d more were due than were sent, shed or left unsent, and %d more were sent than ended",
				step, op, a.backlog[o], a.inFlight[o]))
		}
	}
	return errors.Join(errs...)
}

// gauges sets the gauges on the last row of each operation in a second. They follow from the
// counts, so they always agree with them. The backlog is negative only after a flush that was
// seconds late, and is shown as 0 then.
func (a *accounts) gauges(rows []results.Interval) {
	_, created, _ := a.totals()
	for o, op := range a.ops {
		if row := lastOf(rows, string(op)); row != nil {
			row.Backlog, row.InFlight = max(a.backlog[o], 0), a.inFlight[o]
			row.KeysCumulative = created
		}
	}
}

// clamp counts latencies too long for their histogram.
func (a *accounts) clamp(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Clamped += n
}

// totals returns the counts for all steps up to the last flushed second, the keys created, and
// the further keys that may have been.
func (a *accounts) totals() (counts results.Totals, created, perhaps int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts, a.created, a.perhaps
}

// lastOf returns the last row for an operation, or nil.
func lastOf(rows []results.Interval, op string) *results.Interval {
	for n := len(rows) - 1; n >= 0; n-- {
		if rows[n].Operation == op {
			return &rows[n]
		}
	}
	return nil
}
