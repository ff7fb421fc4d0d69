package table

import (
	"fmt"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// clientRows show how well the client paced the load.
func clientRows() []Row {
	timed := func(name, definition string, cell func(*run.Run) Cell) Row {
		return Row{Name: name, Unit: "ms", Definition: definition, Ours: true, Cell: cell}
	}
	const late = " delay that the client itself added between the due time and the sending of a request (rate only), over all requests that were sent: the whole delay if a client was waiting for the request, otherwise at most the time for which the client was stopped since a client was last free. It is part of the response times"
	return []Row{
		{Name: "INSIDE-SHARE", Unit: "%", Definition: "share of the clients' time that was spent inside calls, over all closed steps; time without a server and time in which the client was stopped do not count; below 98 % the client machine set the pace", Ours: true,
			Cell: insideShare},
		{Name: "INSIDE-SHARE-WORST-STEP", Unit: "%", Definition: "lowest INSIDE-SHARE of any closed step", Ours: true,
			Cell: insideShareWorst},
		timed("LATENESS p50", "median"+late, lateness(.50, func(s *results.Spread) int64 { return s.P50 })),
		timed("LATENESS p99", "99th percentile of the"+late, lateness(.99, func(s *results.Spread) int64 { return s.P99 })),
		timed("LATENESS max", "longest"+late, lateness(1, func(s *results.Spread) int64 { return s.Max })),
		timed("SCHEDULING-LAG p99", "99th percentile of timer delays in the client's process, sampled every 10 ms during the load: far below 1 ms if processors are free",
			schedulingLag),
		{Name: "CLIENT-STOPPED-SHARE", Unit: "%", Definition: "share of the load's time in gaps of more than 10 ms in which the client's process did not run: it was stopped, or waited for a processor", Ours: true,
			Cell: stoppedShare},
		{Name: "CLIENT-STOPPED-LONGEST", Unit: "ms", Definition: "longest time for which the client's process did not run during the load; n is the number of such times", Ours: true,
			Cell: stoppedLongest},
		timed("SELF-CHECK-ADDED p50", "median"+selfCheckAdded, selfCheckCell(.50, func(c *results.LoadCheck) results.Compared { return c.P50 })),
		timed("SELF-CHECK-ADDED p99", "99th percentile"+selfCheckAdded, selfCheckCell(.99, func(c *results.LoadCheck) results.Compared { return c.P99 })),
		timed("SELF-CHECK-LATENESS p99", "LATENESS p99 in the same check (rate only)", selfCheckLateness),
		{Name: "SELF-CHECK-THROUGHPUT", Unit: "req/s", Definition: "requests per second that ended ok in the same check: the rate of the load's heaviest step, or the throughput of its clients in a closed loop against a server with that delay", Ours: true,
			Cell: selfCheckThroughput},
		{Name: "OTHER-CPU-SHARE", Unit: "%", Definition: "share of a machine's processors used during the load by processes other than the client and the members (separate agents count as others), on the machine with the largest share", Ours: true,
			Cell: otherCPUShare},
		{Name: "OTHER-WRITTEN-MB", Unit: "MB", Definition: "bytes that the members' devices wrote during the load beyond those that the members wrote: writes of other processes and file system journals, over all machines", Ours: true,
			Cell: otherWritten},
	}
}

// lateness prints the quantile q, 1 for the maximum, of how long after due a free client sent.
func lateness(q float64, get func(*results.Spread) int64) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		if !r.Rated() {
			return inapplicable("only loads with a rate have it")
		}
		return worst(r, func(i results.Issuer) *results.Spread { return sampled(i.Lateness) }, get,
			func(s *results.Spread) Cell { return spreadCell(q, get(s), s.N) },
			missing("not recorded, or no client ever waited for a request to become due"))
	}
}

// sampled returns nil for a spread without values.
func sampled(s *results.Spread) *results.Spread {
	if s == nil || s.N == 0 {
		return nil
	}
	return s
}

func schedulingLag(r *run.Run) Cell {
	return worst(r, func(i results.Issuer) *results.Spread { return sampled(i.SchedulingLag) }, func(s *results.Spread) int64 { return s.P99 },
		func(s *results.Spread) Cell { return spreadCell(.99, s.P99, s.N) }, missing("not recorded"))
}

// stopsOf returns when an issuer was stopped.
func stopsOf(i results.Issuer) *results.Stops { return i.Stops }

func stoppedShare(r *run.Run) Cell {
	load := r.Info.Record.LoadEnd.Sub(r.Info.Record.LoadStart)
	if load <= 0 {
		return cellOf(r.Info.Unrecorded(), percentText)
	}
	return worst(r, stopsOf, func(s *results.Stops) int64 { return s.TotalNS }, func(s *results.Stops) Cell {
		share := 100 * float64(s.TotalNS) / float64(load)
		return number(share, s.N, "%.2f %%", share)
	}, cellOf(r.Info.Unrecorded(), percentText))
}

func stoppedLongest(r *run.Run) Cell {
	return worst(r, stopsOf, func(s *results.Stops) int64 { return int64(s.Longest.Length) }, func(s *results.Stops) Cell {
		ms := float64(s.Longest.Length) / 1e6
		return number(ms, s.N, "%.0f ms, n %s", ms, humanize.Comma(s.N))
	}, cellOf(r.Info.Unrecorded(), percentText))
}

func otherCPUShare(r *run.Run) Cell {
	others := r.Info.Record.OtherLoad
	if len(others) == 0 {
		return noOthers(r)
	}
	most := 0.0
	for _, o := range others {
		most = max(most, 100*o.OtherCPUShare())
	}
	return number(most, 0, "%.1f %%", most)
}

func otherWritten(r *run.Run) Cell {
	bytes, known := 0.0, false
	for _, o := range r.Info.Record.OtherLoad {
		known = known || o.DeviceWrittenBytes > 0
		bytes += o.OtherWrittenBytes()
	}
	switch {
	case len(r.Info.Record.OtherLoad) == 0:
		return noOthers(r)
	case !known:
		return missing("no member's device was sampled")
	}
	return number(bytes/1e6, 0, "%.1f MB", bytes/1e6)
}

// noOthers is the cell for a run that recorded no other load.
func noOthers(r *run.Run) Cell {
	if then := r.Info.Unrecorded(); then.Words != "" {
		return cellOf(then, percentText)
	}
	return missing("no machine was sampled twice during the load")
}

func insideShare(r *run.Run) Cell {
	if !r.Closed() {
		return inapplicable("only closed loops have it")
	}
	share := r.Windows.InsidePercent()
	cell := cellOf(share, insideText)
	if share.Known() && share.Value < enoughInside {
		cell.Marks = append(cell.Marks, overheadMark)
	}
	return cell
}

func insideText(v float64) string { return fmt.Sprintf("%.1f %%", v) }

// enoughInside is the percentage of client time inside calls above which the database, not the
// client, set the pace in a closed loop.
const (
	enoughInside = 98
	overheadMark = "client overhead: with a server available, the clients spent more than 2 % of their time outside calls, so the client machine set part of the pace"
)

func insideShareWorst(r *run.Run) Cell {
	steps := r.Windows.Closed()
	if len(steps) < 2 {
		return inapplicable("only stepped closed loops have it")
	}
	worst := steps[0]
	for _, step := range steps {
		if !step.InsidePercent().Known() {
			worst = step
			break
		}
		if step.InsidePercent().Value < worst.InsidePercent().Value {
			worst = step
		}
	}
	share := worst.InsidePercent()
	share.N = int64(len(steps))
	return cellOf(share, func(v float64) string { return fmt.Sprintf("%s (%s)", insideText(v), run.ClientsText(worst.Clients)) }).verbatim()
}
