package analyze

import (
	"fmt"
	"strings"

	humanize "github.com/dustin/go-humanize"
)

// countCell is a count of requests; -1 was not recorded.
func countCell(c *column, v int64) Cell {
	if v < 0 {
		return missing("a classic run does not record it")
	}
	if !c.classic && c.run.Totals == nil && len(c.seconds) == 0 {
		return missing("no request was recorded")
	}
	return count(v)
}

// outcomeRows are the requests by their end, and what that says of the run.
func outcomeRows() []row {
	of := func(name, definition string, get func(counts) int64) row {
		return row{name: name, unit: "requests", definition: definition,
			cell: func(c *column) Cell { return countCell(c, get(c.counts)) }}
	}
	return []row{
		{name: "KEYS-FOUND", unit: "keys", definition: "keys the load added by the database's own count / least and most it may have added; outside these bounds the run is invalid", optional: true,
			cell: keysFound},
		of("OFFERED", "requests that were due, whole load; OK + FAILED + UNKNOWN + SHED + UNSENT", func(t counts) int64 { return t.Offered }),
		of("SENT", "requests whose driver call began", func(t counts) int64 { return t.Sent }),
		of("OK", "requests answered with success", func(t counts) int64 { return t.OK }),
		of("FAILED", "requests surely not applied", func(t counts) int64 { return t.Failed }),
		of("UNKNOWN", "requests that may have been applied: time-out, connection lost", func(t counts) int64 { return t.Unknown }),
		of("SHED", "requests dropped at their due time because every client was busy", func(t counts) int64 { return t.Shed }),
		of("UNSENT", "requests that were due and could not be sent before the drain ended", func(t counts) int64 { return t.Unsent }),
		of("QUEUED", "requests sent after their due time because every client was busy", func(t counts) int64 { return t.Queued }),
		of("LATE", "requests sent more than 1 ms after their due time by a free client: the client machine was slow", func(t counts) int64 { return t.Late }),
		of("CLAMPED", "latencies above the histogram's maximum, recorded as that", func(t counts) int64 { return t.Clamped }),
		{name: "ERRORS", unit: "requests", definition: "requests that failed or are unknown, by class", cell: errorClasses},
		{name: "INSIDE-SHARE", unit: "%", definition: "share of the clients' time that lay inside calls, over all steps (closed loop); below 98 % the client machine set the pace", optional: true,
			cell: insideShare},
		{name: "INSIDE-SHARE-WORST-STEP", unit: "%", definition: "INSIDE-SHARE of the step where it is least", optional: true,
			cell: insideShareWorst},
		{name: "LOG-EVENTS", unit: "lines", definition: "lines of the members' logs that the driver's rules match, whole run", optional: true, cell: logEvents},
	}
}

func keysFound(c *column) Cell {
	k := c.run.Keys
	switch {
	case k == nil:
		return missing("keys are counted after writes, by databases that can count them")
	case k.Error != "":
		return missing("%s", k.Error)
	}
	found, verdict := k.Found(), "ok"
	if found < k.MinAdded || found > k.MaxAdded {
		verdict = "INVALID"
	}
	bounds := humanize.Comma(k.MinAdded)
	if k.MaxAdded != k.MinAdded {
		bounds += ".." + humanize.Comma(k.MaxAdded)
	}
	return number(float64(found), 0, "%s / %s %s", humanize.Comma(found), bounds, verdict)
}

func errorClasses(c *column) Cell {
	if c.failures < 0 {
		return missing("no error record")
	}
	var total int64
	var parts []string
	for _, e := range c.errors {
		total += e.count
		parts = append(parts, fmt.Sprintf("%s %s", e.class, humanize.Comma(e.count)))
	}
	if total == 0 {
		return count(0)
	}
	return number(float64(total), 0, "%s", strings.Join(parts, ", "))
}

func insideShare(c *column) Cell {
	if c.rated() {
		return missing("only a closed loop has it")
	}
	var inside, capacity float64
	for _, w := range c.measured {
		if w.inside < 0 || w.clients == 0 {
			return missing("the time inside calls was not recorded")
		}
		inside += float64(w.inside)
		capacity += float64(w.clients) * w.whole.seconds() * 1e9
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
		return missing("only a stepped closed loop has it")
	}
	worst, clients := 0.0, 0
	for i, w := range c.measured {
		if w.inside < 0 || w.clients == 0 {
			return missing("the time inside calls was not recorded")
		}
		share := 100 * float64(w.inside) / (float64(w.clients) * w.whole.seconds() * 1e9)
		if i == 0 || share < worst {
			worst, clients = share, w.clients
		}
	}
	return number(worst, int64(len(c.measured)), "%.1f %% (%d clients)", worst, clients)
}

func logEvents(c *column) Cell {
	if len(c.logs) == 0 {
		return missing("no rules, or no logs were collected")
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
		return count(0)
	}
	return number(float64(total), 0, "%s", strings.Join(parts, ", "))
}
