package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/coreos/dbtester/control/issue"
	"github.com/coreos/dbtester/control/judge"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// evidence gathers the facts for judging r. disks hold the member data, by member.
func evidence(r *run, client results.Host, disks []results.Disk) (judge.Evidence, error) {
	steps, err := stepEvidence(r.dir, r.record, r.cut())
	for i := range steps {
		steps[i].Held = r.found()
	}
	wrong, unknown := wrongValues(r.dir)
	if err = errors.Join(err, unknown); err != nil {
		err = fmt.Errorf("read records to judge them: %w", err)
	}
	return judge.Evidence{
		Run: r.record, Steps: steps, Lost: r.losses.Reasons(), Disks: disks,
		Clients: clientEvidence(r, client), Wrong: wrong, Library: library(r.record),
		Drain: r.db.Load.Drain, TLS: r.db.TLS != nil, Auth: r.db.Auth != nil, Unmeasured: len(r.db.Endpoints) > 0, Own: r.ownMarks(),
	}, err
}

// clientEvidence describes the machines that issued the load: the machine of this process, or the
// generators.
func clientEvidence(r *run, machine results.Host) (list []judge.Client) {
	for _, i := range r.record.Issuers() {
		e, dir := judge.Client{Name: i.Addr, Stops: i.Stops, SelfCheck: i.SelfCheck}, r.dir
		if i.Number > 0 {
			dir = issue.Folder(r.dir, i.Number-1)
		}
		// Unreadable samples are no evidence; the samples before them are.
		var unread error
		e.Samples, unread = results.ReadSamples(filepath.Join(dir, results.FileClient))
		if i.Number > 0 {
			ofGenerator(&e, &r.record.Generators[i.Number-1], r.record.Steps)
		} else {
			e.Host, e.Addrs, e.Unsampled = machine, ownAddrs(), errors.Is(unread, fs.ErrNotExist)
		}
		list = append(list, e)
	}
	return list
}

// library returns the client implementation if it is not the one in this module; "" for this
// module, which reads answers where their times are taken, and for databases with only one client.
func library(run *results.DatabaseRun) string {
	if transport := run.OptionTexts["transport"]; transport != string(database.Lean) {
		return transport
	}
	return ""
}

// ownAddrs returns the interface addresses of this machine, or nil if they cannot be listed.
func ownAddrs() (ips []net.IP) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			ips = append(ips, n.IP)
		}
	}
	return ips
}

// stepEvidence reads the step records in dir. It returns nil if no step ran.
func stepEvidence(dir string, run *results.DatabaseRun, cut []results.Stretch) ([]judge.Step, error) {
	if len(run.Steps) == 0 {
		return nil, nil
	}
	progress, err := results.ReadProgress(filepath.Join(dir, results.FileProgress))
	if err != nil && !errors.Is(err, results.ErrTruncated) {
		return nil, err
	}
	sum, err := results.Summarize(dir, run)
	if err != nil {
		return nil, err
	}
	excused, err := excusedFailures(dir, run.Load.Load)
	if err != nil {
		return nil, err
	}
	kept := outside(progress, run, cut)
	service, err := meanService(dir)
	if err != nil {
		return nil, err
	}
	answers, err := memberAnswers(dir, len(run.Members))
	if err != nil {
		return nil, err
	}
	var steps []judge.Step
	swept := run.Swept != nil && run.Swept.Key == workload.SweepRate // overloads on purpose
	for _, r := range run.Steps {
		s := judge.Step{Index: r.Index, Clients: r.Clients, Rated: r.Rate > 0, Overloads: r.RateEnd > 0 || swept, Swept: swept,
			Excused: excused[r.Index], Waiting: waiting(run, r), Members: memberShares(run, r, answers[r.Index])}
		if i := slices.IndexFunc(sum.Steps, func(s results.StepSummary) bool { return s.Step == r.Index }); i >= 0 {
			m := sum.Steps[i]
			s.OK, s.Failed, s.Unknown, s.Shed, s.Unsent = m.OK, m.Failed, m.Unknown, m.Shed, m.Unsent
			s.Queued, s.Late = m.Queued, m.Late
			s.ClientOwn = clientDelay(r.ClientDelayNS, nil, nil, m.Latency)
			s.ClientDelay = clientDelay(r.ClientDelayNS, run.SchedulingLag, run.Stops, m.Latency)
			if s.Rated {
				s.Waits = waits(progress, run, r)
				s.Answered, s.Offered = achieved(kept, run, r, inFlightAtEnd(r, service[r.Index]))
			}
		}
		if len(cut) > 0 {
			recount(&s, kept, run, r)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// waiting returns the time that clients in s had no server, out of all their time in the measured
// window.
func waiting(run *results.DatabaseRun, s results.Step) *judge.Part {
	from, to := run.Measured(s)
	of := time.Duration(s.Clients) * to.Sub(from)
	return &judge.Part{Is: min(time.Duration(s.WaitingNS), max(of, 0)), Of: of}
}

// readErrors reads the error counts in dir; there are no counts if no step ran.
func readErrors(dir string) ([]results.ErrorCount, error) {
	counts, err := results.ReadErrors(filepath.Join(dir, results.FileErrors))
	if err != nil && !errors.Is(err, results.ErrTruncated) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return counts, nil
}

// wrongValues counts the answers with a wrong value, in every step and phase.
func wrongValues(dir string) (n int64, err error) {
	counts, err := readErrors(dir)
	for _, c := range counts {
		if c.Class == workload.ClassWrongValue {
			n += c.Count
		}
	}
	return n, err
}

// excusedFailures counts, by step, failures in the measured window that are part of the workload:
// swaps and txns that lost a race, and reads for keys that the load deletes.
func excusedFailures(dir string, l workload.Load) (map[int]int64, error) {
	counts, err := readErrors(dir)
	if err != nil {
		return nil, err
	}
	deletes := slices.Contains(l.Operations(), workload.OpDelete)
	n := map[int]int64{}
	for _, c := range counts {
		if c.Phase == results.PhaseMeasure && database.Declined(workload.Op(c.Operation), database.Class(c.Class), deletes) {
			n[c.Step] += c.Count
		}
	}
	return n, nil
}

// meanService returns, by step, the mean time from sending to answer for the measured requests that
// ended ok.
func meanService(dir string) (map[int]time.Duration, error) {
	rows, err := results.ReadIntervals(filepath.Join(dir, results.FileIntervals))
	if err != nil && !errors.Is(err, results.ErrTruncated) {
		return nil, err
	}
	sums := map[int]results.Latency{}
	for i := range rows {
		if rows[i].Phase == results.PhaseMeasure {
			sums[rows[i].Step] = sums[rows[i].Step].Merge(*rows[i].Latency(results.TimingService, workload.OK))
		}
	}
	means := map[int]time.Duration{}
	for step, l := range sums {
		means[step] = time.Duration(l.Mean())
	}
	return means, nil
}

// inFlightAtEnd returns the time before the end of a window from which requests are due that a
// system in its steady state answers only after the end: a mean service time. By Little's law no
// more than all clients are in flight, so the time in which as many requests become due bounds it.
// Requests that wait longer are a backlog.
func inFlightAtEnd(s results.Step, service time.Duration) time.Duration {
	return min(service, time.Duration(float64(s.Clients)/s.Rate*float64(time.Second)))
}

// dueWindow returns when requests became due in the measured window of s, in nanoseconds after its
// start.
func dueWindow(run *results.DatabaseRun, s results.Step) (first, last int64) {
	start := s.Start.Round(0)
	from, end := run.Measured(s)
	if issued := s.IssueEnd.Round(0); !s.IssueEnd.IsZero() && issued.Before(end) {
		end = issued // steps without a duration are measured until their last answer
	}
	return int64(from.Sub(start)), int64(end.Sub(start))
}

// waits counts requests that were due and not sent at the end of the measured window, for steps
// with a rate.
func waits(rows []results.Progress, run *results.DatabaseRun, s results.Step) (n int64) {
	_, last := dueWindow(run, s)
	inFlight := map[string]int64{}
	for _, row := range rows {
		if row.Step == s.Index && row.ToNS <= last {
			n += row.Due - row.OK - row.Failed - row.Unknown - row.Shed - row.Unsent
			inFlight[row.Operation] = row.InFlight
		}
	}
	for _, sent := range inFlight {
		n -= sent
	}
	for _, g := range run.Generators { // no row counts requests in flight on a lost generator
		if last := len(g.Steps) - 1; g.Lost != "" && g.Totals != nil && last >= 0 && g.Steps[last].Index == s.Index {
			n -= g.Totals.Pending()
		}
	}
	return max(n, 0)
}

// achieved returns, for steps with a rate, the number of requests that ended ok while requests were
// due, without warm-up and cool-down, and the number due in that time. Without a warm-up nothing
// was in flight when the window began, so it leaves out requests due within inFlight of the end.
func achieved(rows []results.Progress, run *results.DatabaseRun, s results.Step, inFlight time.Duration) (answered, offered float64) {
	first, last := dueWindow(run, s)
	for _, row := range rows {
		switch {
		case row.Step != s.Index || row.FromNS < first || row.FromNS >= last:
		case row.ToNS <= last:
			answered, offered = answered+float64(row.OK), offered+float64(row.Due)
		default: // the last request was due within this row
			answered, offered = answered+float64(min(row.OK, row.Due)), offered+float64(row.Due)
		}
	}
	if run.Load.WarmUp == 0 && last > first {
		offered *= 1 - min(float64(inFlight)/float64(last-first), 1)
	}
	return answered, offered
}

const (
	// timersEarliest is the delay with which timers fire on machines with processors to spare.
	timersEarliest = 100 * time.Microsecond
	// longestLag bounds the timer lags that are certainly no stop.
	longestLag = 10 * time.Millisecond
)

// clientDelay estimates the part of the response times in a step that the client caused. It adds
// two delays: ns, the recorded delay of its requests, which includes stops, and the delay in
// reading answers, which it takes to be that of its timers without stops. The estimate is a lower
// bound, because a spread holds only a few quantiles. It is nil if nothing ended ok.
func clientDelay(ns int64, lag *results.Spread, stops *results.Stops, measured results.Latency) *judge.Part {
	if measured.Count == 0 {
		return nil
	}
	own := time.Duration(ns)
	if lag != nil && lag.Enough(0.5) {
		own += time.Duration(measured.Count) * leastMean(*lag, stops)
	}
	return &judge.Part{Is: min(own, time.Duration(measured.SumNS)), Of: time.Duration(measured.SumNS)}
}

// leastMean returns the least mean by which timers can have been later than timersEarliest, without
// the stops. The watchdog that finds stops is the timer whose lag is sampled, so each stop is among
// the samples.
func leastMean(lag results.Spread, stops *results.Stops) time.Duration {
	var short, long float64
	for _, band := range []struct {
		share float64
		least int64
	}{{0.99 - 0.5, lag.P50}, {0.999 - 0.99, lag.P99}, {0.001, lag.P999}} {
		late := band.share * float64(max(band.least-int64(timersEarliest), 0))
		if band.least > int64(longestLag) {
			long += late
		} else {
			short += late
		}
	}
	if stops != nil {
		long -= float64(stops.TotalNS) / float64(lag.N)
	}
	return time.Duration(short + max(long, 0))
}

// noteStops records as events the times in the load when the client did not run.
func (r *run) noteStops() {
	for _, issuer := range r.record.Issuers() {
		if issuer.Stops == nil {
			continue
		}
		for _, s := range issuer.Stops.Stretches {
			r.journal.eventAt(s.From, results.EventStopped, -1, fmt.Sprintf("%v was stopped or starved for %v", issuer, s.Length.Round(time.Millisecond)))
		}
	}
}
