package table

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
	humanize "github.com/dustin/go-humanize"
)

// countOf prints a request count.
func countOf(get func(*run.Counts) run.Measure) func(*run.Run) Cell {
	return func(r *run.Run) Cell { return cellOf(get(&r.Load.Counts), commaText) }
}

func failures(c *run.Counts) run.Measure { return c.Failures }

// outcomeRows count the requests by outcome.
func outcomeRows() []Row {
	of := func(name, definition string, get func(*run.Counts) run.Measure) Row {
		return Row{Name: name, Unit: "requests", Definition: definition,
			Cell: countOf(get)}
	}
	return []Row{
		{Name: "KEYS-FOUND", Unit: "keys", Definition: "keys that the load added by the database's own count / the fewest and the most that it can have added according to the answers; outside these bounds the run is invalid", Ours: true,
			Cell: keysFound},
		{Name: "LOAD-LOCKS", Unit: "locks", Definition: "locks that requests acquired; how many were held twice and had a fence that was not greater than that of the holder before, either of which makes the run invalid (with generators, holders of different machines are compared by their clocks: doubtful are those for which the error of the clocks, or a stop of a client, leaves it open); how many were lost, believed held after the session had ended because the client was stopped, or had a release that failed", Ours: true, Cell: loadLocks},
		{Name: "LOAD-SESSIONS", Unit: "sessions", Definition: "sessions that were granted before the load and begun by its requests, with the TTL that was asked for, and how each ended: revoked by requests, ended after the load, expired by itself, or left to expire; doubtful are grants without an answer", Ours: true, Cell: loadSessions},
		of("OFFERED", "requests that were due, whole load; OK + FAILED + UNKNOWN + SHED + UNSENT", func(c *run.Counts) run.Measure { return c.Offered }),
		of("SENT", "requests whose driver call began, whole load", func(c *run.Counts) run.Measure { return c.Sent }),
		of("OK", "requests answered with success, whole load; SUCCESS is of the measured part", func(c *run.Counts) run.Measure { return c.OK }),
		{Name: "BYTES-PER-RESPONSE", Unit: "B", Definition: "bytes of all values that reads, swaps and ranges returned, divided by the number of them answered ok, whole load", Ours: true, Cell: bytesPerResponse},
		of("FAILED", "requests that were certainly not applied, whole load", func(c *run.Counts) run.Measure { return c.Failed }),
		of("UNKNOWN", "requests that may have been applied: time-out, connection lost; whole load", func(c *run.Counts) run.Measure { return c.Unknown }),
		of("SHED", "requests dropped at their due time because every client was busy, or their own client with bind: client", func(c *run.Counts) run.Measure { return c.Shed }),
		{Name: "MAX-BACKLOG", Unit: "requests", Definition: "largest number of requests that were due but not sent at the end of a second (rate only)", Ours: true, Cell: maxBacklog},
		of("UNSENT", "requests that were due but could not be sent before the drain ended", func(c *run.Counts) run.Measure { return c.Unsent }),
		of("QUEUED", "requests sent after their due time because every client was busy, or their own client with bind: client", func(c *run.Counts) run.Measure { return c.Queued }),
		of("LATE", "requests sent more than 1 ms after their due time by a free client: the client machine was slow", func(c *run.Counts) run.Measure { return c.Late }),
		{section: sectionLoad, Name: "RECONNECTS", Unit: "connections", Ours: true, Definition: "connections that clients opened to replace broken or refused ones, and how many connections they lost, in the measured window", Cell: reconnects},
		of("CLAMPED", "latencies above the histogram's maximum, recorded as the maximum", func(c *run.Counts) run.Measure { return c.Clamped }),
		{Name: "ERRORS", Unit: "requests", Definition: "requests of the whole load that failed or have an unknown outcome, by class", Cell: errorClasses},
		{section: sectionLogs, Name: "LOG-EVENTS", Unit: "lines", Definition: "lines of the members' logs that match the driver's rules, whole run; events that did not occur are left out; longest is the longest time that a line reports", Ours: true, Cell: logEvents},
	}
}

func maxBacklog(r *run.Run) Cell {
	if !r.Rated() {
		return inapplicable("only loads with a rate have it")
	}
	return cellOf(r.Load.MaxBacklog, commaText)
}

func keysFound(r *run.Run) Cell {
	k := r.Info.Record.Keys
	switch {
	case k == nil && !creates(r):
		return inapplicable("keys are counted around loads that write and do not delete")
	case k == nil:
		return missing("the database's own count of its keys was not recorded")
	case k.Error != "":
		return missing("%s", k.Error)
	case r.Info.Record.Totals == nil:
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

// loadSessions accounts for the sessions that requests took.
func loadSessions(r *run.Run) Cell {
	s := r.Info.Record.Sessions
	switch {
	case !r.Info.Record.Load.Any(workload.Op.OfSessions):
		return inapplicable("no operation is of sessions")
	case s == nil:
		return missing("what became of the sessions was not recorded")
	}
	parts := []string{fmt.Sprintf("%s before + %s begun, TTL %v", humanize.Comma(s.Granted), humanize.Comma(s.Begun), s.TTL)}
	for _, c := range []struct {
		n    int64
		what string
	}{{s.Revoked, "revoked"}, {s.Ended, "ended after"}, {s.Expired, "expired"}, {s.Left, "left"}, {s.Doubtful, "doubtful"}} {
		if c.n > 0 {
			parts = append(parts, humanize.Comma(c.n)+" "+c.what)
		}
	}
	return number(float64(s.Granted+s.Begun), 0, "%s", strings.Join(parts, "; "))
}

// loadLocks accounts for the locks that requests acquired.
func loadLocks(r *run.Run) Cell {
	l := r.Info.Record.Locks
	switch {
	case !r.Info.Record.Load.Any(workload.Op.Locks):
		return inapplicable("no operation takes locks")
	case l == nil:
		return missing("what became of the locks was not recorded")
	}
	parts := []string{humanize.Comma(l.Acquired) + " acquired", humanize.Comma(l.Overlaps) + " held twice", humanize.Comma(l.Disorder) + " fences out of order"}
	for _, c := range []struct {
		n    int64
		what string
	}{{l.Lost, "lost"}, {l.Believed, "believed held"}, {l.Unclear, "with an unclear release"}, {l.Replaced, "contenders replaced"}, {l.Left, "contenders left"}} {
		if c.n > 0 {
			parts = append(parts, humanize.Comma(c.n)+" "+c.what)
		}
	}
	if l.Parts > 1 {
		parts = append(parts, compared(l))
	}
	return number(float64(l.Acquired), 0, "%s (recipe %s by %s, TTL %v)", strings.Join(parts, "; "), l.Recipe, l.By, l.TTL)
}

// compared describes how locks were compared that different machines held.
func compared(l *results.LoadLocks) string {
	if l.Compared == 0 {
		return "holders of different machines were not compared"
	}
	return fmt.Sprintf("%s compared between %d machines, %s doubtful, clocks known to ± %v",
		humanize.Comma(l.Compared), l.Parts, humanize.Comma(l.Unsure), l.ClockError.Round(time.Microsecond))
}

// creates reports whether the load wrote new keys and deleted none. Only then does the key count
// show the number of added keys.
func creates(r *run.Run) bool {
	l := r.Info.Record.Load
	return l.Any(workload.Op.Creates) && !l.Any(workload.Op.Deletes)
}

func errorClasses(r *run.Run) Cell {
	all := r.Load.Counts.Failures
	if !all.Known() {
		return cellOf(all, commaText)
	}
	var classes []results.ClassCount
	unrecorded := all.Int()
	for _, e := range r.Load.Errors {
		classes = append(classes, results.ClassCount{Class: e.Class, Count: e.Count})
		unrecorded -= e.Count
	}
	if unrecorded > 0 {
		classes = append(classes, results.ClassCount{Class: results.ClassUnrecorded, Count: unrecorded})
	}
	return classesCell(classes)
}

// classesCell lists error classes with their counts.
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

func logEvents(r *run.Run) Cell {
	return cellOf(r.Machines.Logs.Total, func(float64) string {
		var parts []string
		for _, e := range r.Machines.Logs.Events {
			if e.Count > 0 {
				parts = append(parts, fmt.Sprintf("%s %s", e.Event, humanize.Comma(e.Count))+longestOf(e))
			}
		}
		if len(parts) == 0 {
			return "none"
		}
		return strings.Join(parts, ", ")
	}).verbatim()
}

// longestOf formats the longest event, if log lines include durations.
func longestOf(e run.LogEvent) string {
	if e.Timed == 0 {
		return ""
	}
	return fmt.Sprintf(" (longest %s)", e.Longest.Round(time.Millisecond/10))
}

// bytesPerResponse is the mean size of values that reads returned.
func bytesPerResponse(r *run.Run) Cell {
	reads, bytes := r.Load.Counts.Reads, r.Load.Counts.BytesRead
	text := func(v float64) string { return humanize.CommafWithDigits(math.Round(v*100)/100, 2) + " B" }
	switch {
	case !reads.Known():
		return cellOf(reads, text)
	case !bytes.Known():
		return cellOf(bytes, text)
	}
	return cellOf(run.Measured(bytes.Value/reads.Value, reads.Int()), text)
}
