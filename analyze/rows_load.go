package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
	humanize "github.com/dustin/go-humanize"
)

// countCell is a count of requests; -1 was not recorded.
func countCell(c *column, v int64) Cell {
	switch {
	case v < 0 && c.classic:
		return missing("a classic run does not record it")
	case v < 0:
		return missing("only the totals at the end of a run have it")
	case c.uncounted():
		return missing("no request was recorded")
	}
	return count(v)
}

// uncounted reports whether no request was, so that even 0 is not known.
func (c *column) uncounted() bool {
	return !c.classic && c.run.Totals == nil && len(c.seconds) == 0
}

// okCell is the number of requests answered, which a classic run has in its time
// series.
func okCell(c *column) Cell {
	if c.counts.OK < 0 {
		return missing("%s", c.why(c.secondsFile(), "no second was recorded"))
	}
	return countCell(c, c.counts.OK)
}

// sentCell is the number of requests sent: of a classic run the sum of what two
// files say.
func sentCell(c *column) Cell {
	switch {
	case c.counts.Sent >= 0:
		return countCell(c, c.counts.Sent)
	case c.counts.OK < 0:
		return okCell(c)
	}
	return failuresCell(c)
}

// failuresCell is the number of requests that failed or are unknown.
func failuresCell(c *column) Cell {
	if c.failures < 0 {
		return missing("%s", c.why(c.summaryFile(), "no error record"))
	}
	return countCell(c, c.failures)
}

// outcomeRows are the requests by their end, and what that says of the run.
func outcomeRows() []row {
	of := func(name, definition string, get func(counts) int64) row {
		return row{name: name, unit: "requests", definition: definition,
			cell: func(c *column) Cell { return countCell(c, get(c.counts)) }}
	}
	return []row{
		{name: "KEYS-FOUND", unit: "keys", definition: "keys the load added by the database's own count / least and most it may have added, by the answers; outside these bounds the run is invalid", ours: true,
			cell: keysFound},
		of("OFFERED", "requests that were due, whole load; OK + FAILED + UNKNOWN + SHED + UNSENT", func(t counts) int64 { return t.Offered }),
		{name: "SENT", unit: "requests", definition: "requests whose driver call began", cell: sentCell},
		{name: "OK", unit: "requests", definition: "requests answered with success", cell: okCell},
		{name: "BYTES-PER-RESPONSE", unit: "B", definition: "bytes of all values that reads, swaps and ranges returned / those answered ok, whole load", ours: true, cell: bytesPerResponse},
		of("FAILED", "requests surely not applied", func(t counts) int64 { return t.Failed }),
		of("UNKNOWN", "requests that may have been applied: time-out, connection lost", func(t counts) int64 { return t.Unknown }),
		of("SHED", "requests dropped at their due time because every client was busy", func(t counts) int64 { return t.Shed }),
		{name: "MAX-BACKLOG", unit: "requests", definition: "most requests that were due and not sent at the end of a second (rate only)", ours: true, cell: maxBacklog},
		of("UNSENT", "requests that were due and could not be sent before the drain ended", func(t counts) int64 { return t.Unsent }),
		of("QUEUED", "requests sent after their due time because every client was busy", func(t counts) int64 { return t.Queued }),
		of("LATE", "requests sent more than 1 ms after their due time by a free client: the client machine was slow", func(t counts) int64 { return t.Late }),
		of("CLAMPED", "latencies above the histogram's maximum, recorded as that", func(t counts) int64 { return t.Clamped }),
		{name: "ERRORS", unit: "requests", definition: "requests that failed or are unknown, by class", cell: errorClasses},
		{name: "LOG-EVENTS", unit: "lines", definition: "lines of the members' logs that the driver's rules match, whole run; events that did not occur are left out", ours: true, cell: logEvents},
	}
}

// clientRows say how well the client did its part.
func clientRows() []row {
	timed := func(name, definition string, cell func(*column) Cell) row {
		return row{name: name, unit: "ms", definition: definition, ours: true, cell: cell}
	}
	const late = " time after due at which a client that waited for it sent its request (rate only): the client's own imprecision, part of every response time"
	return []row{
		{name: "INSIDE-SHARE", unit: "%", definition: "share of the clients' time that lay inside calls, over all steps (closed loop); below 98 % the client machine set the pace", ours: true,
			cell: insideShare},
		{name: "INSIDE-SHARE-WORST-STEP", unit: "%", definition: "INSIDE-SHARE of the step where it is least", ours: true,
			cell: insideShareWorst},
		timed("LATENESS p50", "median"+late, lateness(.50, func(s *results.Spread) int64 { return s.P50 })),
		timed("LATENESS p99", "99th percentile of the"+late, lateness(.99, func(s *results.Spread) int64 { return s.P99 })),
		timed("LATENESS max", "longest"+late, lateness(1, func(s *results.Spread) int64 { return s.Max })),
		timed("SCHEDULING-LAG p99", "99th percentile of how late a timer fired in the client's process, sampled every 10 ms of the load: with processors to spare it is far below 1 ms",
			schedulingLag),
	}
}

// lateness is the quantile q, 1 for the maximum, of how much after due free clients
// sent.
func lateness(q float64, get func(*results.Spread) int64) func(*column) Cell {
	return func(c *column) Cell {
		switch s := c.run.Lateness; {
		case !c.rated():
			return inapplicable("only a load with a rate has it")
		case s == nil || s.N == 0:
			return missing("not recorded, or no client ever waited for a due time")
		default:
			return spreadCell(q, get(s), s.N)
		}
	}
}

func schedulingLag(c *column) Cell {
	if s := c.run.SchedulingLag; s != nil && s.N > 0 {
		return spreadCell(.99, s.P99, s.N)
	}
	return missing("not recorded")
}

// spreadCell is a quantile of a distribution of the client's, 1 for its maximum, and
// of how many.
func spreadCell(q float64, ns, n int64) Cell {
	ms := float64(ns) / 1e6
	if q == 1 || results.Enough(q, n) {
		return number(ms, n, "%.3f ms, n %s", ms, humanize.Comma(n))
	}
	cell := number(ms, n, "%.3f ms *, n %s", ms, humanize.Comma(n))
	cell.Marks = []string{fewMark}
	return cell
}

func maxBacklog(c *column) Cell {
	if !c.rated() {
		return inapplicable("only a load with a rate has it")
	}
	switch {
	case c.classic:
		return inapplicable(unheld)
	case len(c.gauges) == 0:
		return missing("%s", c.why(c.secondsFile(), "no request was recorded"))
	}
	most := slices.MaxFunc(c.gauges, func(a, b results.Gauge) int { return cmp.Compare(a.Backlog, b.Backlog) })
	return number(float64(most.Backlog), int64(len(c.gauges)), "%s", humanize.Comma(most.Backlog))
}

func keysFound(c *column) Cell {
	k := c.run.Keys
	switch {
	case k == nil && !c.creates():
		return inapplicable("keys are counted around loads that write and do not delete")
	case k == nil:
		return missing("the database's own count of its keys was not recorded")
	case k.Error != "":
		return missing("%s", k.Error)
	case c.run.Totals == nil:
		return missing("the database was not asked again after the load")
	}
	found := k.Found()
	bounds := humanize.Comma(k.MinAdded)
	if k.MaxAdded != k.MinAdded {
		bounds += ".." + humanize.Comma(k.MaxAdded)
	}
	verdict := "ok"
	if found < k.MinAdded || found > k.MaxAdded {
		verdict = "INVALID"
	}
	return number(float64(found), 0, "%s / %s %s", humanize.Comma(found), bounds, verdict)
}

// creates reports whether the load wrote new keys and deleted none, so that the
// database's own count tells how many it added.
func (c *column) creates() bool {
	operations := []string{c.run.Load.Operation}
	for _, s := range c.run.Load.Mix {
		operations = append(operations, s.Operation)
	}
	return slices.Contains(operations, "write") && !slices.Contains(operations, "delete")
}

func errorClasses(c *column) Cell {
	if all := failuresCell(c); all.Missing != "" {
		return all
	}
	var classes []results.ClassCount
	unrecorded := c.failures
	for _, e := range c.errors {
		classes = append(classes, results.ClassCount{Class: e.class, Count: e.count})
		unrecorded -= e.count
	}
	if unrecorded > 0 {
		classes = append(classes, results.ClassCount{Class: results.ClassUnrecorded, Count: unrecorded})
	}
	return classesCell(classes)
}

// classesCell lists classes of errors with their counts.
func classesCell(classes []results.ClassCount) Cell {
	var total int64
	var parts []string
	for _, e := range classes {
		total += e.Count
		parts = append(parts, fmt.Sprintf("%s %s", e.Class, humanize.Comma(e.Count)))
	}
	if total == 0 {
		return count(0)
	}
	return number(float64(total), 0, "%s", strings.Join(parts, ", "))
}

func insideShare(c *column) Cell {
	if c.rated() {
		return inapplicable("only a closed loop has it")
	}
	var inside, capacity float64
	for _, w := range c.measured {
		if _, known := w.insideShare(); !known {
			return missing("the time inside calls was not recorded")
		}
		inside += float64(w.inside)
		capacity += float64(w.clients) * w.issued.seconds() * 1e9
	}
	if capacity == 0 {
		return missing("the time inside calls was not recorded")
	}
	cell := number(100*inside/capacity, int64(len(c.measured)), "%.1f %%", 100*inside/capacity)
	if inside/capacity < enoughInside {
		cell.Marks = append(cell.Marks, overheadMark)
	}
	return cell
}

// enoughInside is the share of the clients' time inside calls from which on the
// database set the pace of a closed loop.
const (
	enoughInside = .98
	overheadMark = "client overhead: the clients spent more than 2 % of their time outside calls, so the client machine set part of the pace"
)

func insideShareWorst(c *column) Cell {
	if c.rated() || len(c.measured) < 2 {
		return inapplicable("only a stepped closed loop has it")
	}
	worst, clients := 0.0, 0
	for i, w := range c.measured {
		share, known := w.insideShare()
		if !known {
			return missing("the time inside calls was not recorded")
		}
		if share *= 100; i == 0 || share < worst {
			worst, clients = share, w.clients
		}
	}
	return number(worst, int64(len(c.measured)), "%.1f %% (%d clients)", worst, clients)
}

func logEvents(c *column) Cell {
	switch {
	case c.classic:
		return inapplicable(unheld)
	case len(c.run.LogRules) == 0:
		return inapplicable("there are no rules for its logs")
	case len(c.logs) == 0:
		return missing("no log was collected")
	}
	var total int64
	var parts []string
	for _, e := range c.logs {
		total += e.count
		if e.count > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", e.event, humanize.Comma(e.count)))
		}
	}
	if total == 0 {
		return number(0, 0, "none")
	}
	return number(float64(total), 0, "%s", strings.Join(parts, ", "))
}
