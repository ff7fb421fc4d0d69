package table

import (
	"fmt"
	"math"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
)

// ownRows show the metrics that members reported about themselves over the measured part of the load.
// If a database does not report a number, it has no row.
func ownRows() []Row {
	row := func(name, unit, definition string, of metric.Name, cell func(*run.Run) Cell) Row {
		return Row{Name: name, Unit: unit, Ours: true, Definition: definition + ", by the members' own metrics", Cell: reported(of, cell)}
	}
	most := func(name, unit, definition string, of metric.Name, text func(float64) string, value func(*run.Run, *run.Machine) run.Measure) Row {
		return row(name, unit, definition+"; the member with the highest value, by name", of, largest(text, value))
	}
	growth := func(n metric.Name) func(*run.Run, *run.Machine) run.Measure {
		return func(r *run.Run, m *run.Machine) run.Measure { return m.Own.Growth(r.Windows.MeasuredSpans(), n) }
	}
	peak := func(n metric.Name) func(*run.Run, *run.Machine) run.Measure {
		return func(r *run.Run, m *run.Machine) run.Measure { return m.Own.Peak(r.Windows.MeasuredSpans(), n) }
	}
	last := func(n metric.Name) func(*run.Run, *run.Machine) run.Measure {
		return func(_ *run.Run, m *run.Machine) run.Measure { return m.Own.Last(n) }
	}
	slowest := func(name, definition string, sum, count metric.Name) Row {
		return row(name, "s", definition+inWindow+"; the member with the highest value, by name, of those with any", sum, largestOf(sum, count))
	}
	return []Row{
		most("MEMBER-FSYNCS", "times", "number of times that a member made its log durable"+inWindow, metric.Fsyncs, commaText, growth(metric.Fsyncs)),
		most("MEMBER-FSYNC-AVG", "s", "mean time of those syncs", metric.FsyncSeconds, millisOfSeconds, meanOf(metric.FsyncSeconds, metric.Fsyncs)),
		row("MEMBER-FSYNC-p99", "s", "99th percentile of these, between two bounds of the database's histogram; the member with the highest, and which", metric.FsyncHistogram, bucketCell(metric.FsyncHistogram)),
		most("MEMBER-COMMIT-AVG", "s", "mean time of a commit of the store's file"+inWindow, metric.CommitSeconds, millisOfSeconds, meanOf(metric.CommitSeconds, metric.Commits)),
		row("MEMBER-COMMIT-p99", "s", "99th percentile of these, between two bounds of the database's histogram; the member with the highest, and which", metric.CommitHistogram, bucketCell(metric.CommitHistogram)),
		most("MEMBER-SNAPSHOTS", "times", "snapshots"+inWindow, metric.Snapshots, commaText, growth(metric.Snapshots)),
		most("MEMBER-PROPOSALS-APPLIED", "entries", "entries of the log that a member applied"+inWindow, metric.ProposalsApplied, commaText, growth(metric.ProposalsApplied)),
		most("MEMBER-PROPOSALS-FAILED", "proposals", "proposals that failed"+inWindow, metric.ProposalsFailed, commaText, growth(metric.ProposalsFailed)),
		most("MEMBER-MAX-PROPOSALS-PENDING", "proposals", "proposals that waited for their commit, once a second", metric.ProposalsPending, commaText, peak(metric.ProposalsPending)),
		most("MEMBER-MAX-OUTSTANDING", "requests", "requests that were accepted but not yet answered, once a second", metric.Outstanding, commaText, peak(metric.Outstanding)),
		most("MEMBER-LEADER-CHANGES", "times", "changes of leader that a member saw"+inWindow, metric.LeaderChanges, commaText, growth(metric.LeaderChanges)),
		most("MEMBER-DB-SIZE", "bytes", "size of the store's file at the end", metric.DBBytes, run.HumanSize, last(metric.DBBytes)),
		most("MEMBER-DB-USED", "bytes", "part of the store's file that is in use at the end", metric.DBUsedBytes, run.HumanSize, last(metric.DBUsedBytes)),
		most("MEMBER-MAX-HEAP", "bytes", "memory that a member's runtime had allocated, once a second", metric.HeapBytes, run.HumanSize, peak(metric.HeapBytes)),
		most("MEMBER-PAUSES", "s", "time for which the runtime stopped its threads"+inWindow, metric.PauseSeconds, secondText, growth(metric.PauseSeconds)),
		slowest("MEMBER-PEER-TRIP-AVG", "mean time of a round trip to another member, of the few that members measure", metric.PeerTripSeconds, metric.PeerTrips),
		slowest("MEMBER-QUEUE-AVG", "mean time for which an entry of the log waited to be written to the member's log", metric.QueueSeconds, metric.Queued),
		slowest("MEMBER-AGREEMENT-AVG", "mean time from the leader's proposal of an entry of the log until most members had made it durable", metric.AgreementSeconds, metric.Agreements),
		slowest("MEMBER-APPLY-AVG", "mean time of applying an entry of the log to the store", metric.ApplySeconds, metric.Applies),
		slowest("MEMBER-WRITE-AVG", "mean time of a write in the member, from when it had the request until it answered", metric.WriteSeconds, metric.Writes),
		{section: sectionMembers, Name: "MEMBER-METRICS-COST", Unit: "s", Ours: true,
			Definition: "mean time of fetching a member's own metrics, once a second, and the size of the answer, for the slowest member, by name; fetches without an answer are counted",
			Cell:       metricsCost},
	}
}

// reported prints a number for databases that report it.
func reported(n metric.Name, cell func(*run.Run) Cell) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		for _, server := range r.Machines.Servers {
			if server.Own.Reports(n) {
				return cell(r)
			}
		}
		return inapplicable("%s", notReported(r, "no member reported it"))
	}
}

// notReported returns why no member reported a number: the given reason, or [run.NoAgents] if the
// cluster has no agents and its members answered nothing.
func notReported(r *run.Run, why string) string {
	if r.Info.Unattended() && !r.Machines.Answered() {
		return run.NoAgents
	}
	return why
}

// inWindow describes the answers between which the growth of a counter is taken.
const inWindow = " in the measured window, from the member's last answer before the window to its first answer after it"

// meanOf divides a sum by its count.
func meanOf(sum, count metric.Name) func(*run.Run, *run.Machine) run.Measure {
	return func(r *run.Run, m *run.Machine) run.Measure {
		windows := r.Windows.MeasuredSpans()
		total, n := m.Own.Growth(windows, sum), m.Own.Growth(windows, count)
		switch {
		case !total.Known():
			return total
		case !n.Known():
			return n
		case n.Value == 0:
			return run.Missing("there was none in the measured window")
		}
		return run.Measured(total.Value/n.Value, int64(n.Value))
	}
}

// largestOf prints the largest mean over the members whose count grew, such as only the leader.
func largestOf(sum, count metric.Name) func(*run.Run) Cell {
	mean := meanOf(sum, count)
	return func(r *run.Run) Cell {
		most, name := run.Missing("there was none in the measured window"), ""
		for i := range r.Machines.Servers {
			server := &r.Machines.Servers[i]
			n := server.Own.Growth(r.Windows.MeasuredSpans(), count)
			if !n.Known() {
				return missing("%s: %s", server.Name, n.Missing)
			}
			if n.Value == 0 {
				continue
			}
			one := mean(r, server)
			if !one.Known() {
				return missing("%s: %s", server.Name, one.Missing)
			}
			if name == "" || one.Value > most.Value {
				most, name = one, server.Name
			}
		}
		return cellOf(most, func(v float64) string { return millisOfSeconds(v) + " (" + name + ")" }).verbatim()
	}
}

// millisOfSeconds formats seconds as milliseconds.
func millisOfSeconds(v float64) string { return millisText(v * 1e3) }

// bucketCell prints the histogram bucket that contains the 99th percentile, for the member whose
// bucket is highest. The cell's value is the upper bound, if there is one.
func bucketCell(n metric.Name) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		low, high, count, name := -1.0, -1.0, int64(0), ""
		for _, server := range r.Machines.Servers {
			buckets, of := server.Own.Histogram(r.Windows.MeasuredSpans(), n)
			if !of.Known() {
				return missing("%s: %s", server.Name, of.Missing)
			}
			l, h, known := buckets.Quantile(.99)
			if known && h > high {
				low, high, count, name = l, h, of.N, server.Name
			}
		}
		if name == "" {
			return missing("there was none in the measured window")
		}
		text := fmt.Sprintf("between %v and %v (%s)", bound(low), bound(high), name)
		if math.IsInf(high, 1) {
			return Cell{Text: fmt.Sprintf("above %v (%s)", bound(low), name), N: count, Low: &low}
		}
		c := number(high, count, "%s", text)
		c.Low, c.High = &low, &high
		return c
	}
}

// bound converts a bound in seconds to a duration: "8ms".
func bound(seconds float64) time.Duration {
	return time.Duration(math.Round(min(seconds, 1e6) * 1e9))
}

// metricsCost prints the cost of queries to the slowest member.
func metricsCost(r *run.Run) Cell {
	var longest, bytes float64
	var count int64
	lost, name := 0, ""
	for _, server := range r.Machines.Servers {
		lost += server.Own.LostWithin(r.Windows.Load)
		sum, size, n := server.Own.Cost(r.Windows.Load)
		if n > 0 && (name == "" || sum/float64(n) > longest) {
			longest, bytes, count, name = sum/float64(n), size/float64(n), int64(n), server.Name
		}
	}
	switch {
	case name == "" && lost == 0:
		return inapplicable("%s", notReported(r, "members were not asked for their metrics"))
	case name == "":
		return missing("no member answered during the load")
	}
	text := fmt.Sprintf("%s, %s (%s)", millisText(longest/1e6), run.HumanSize(bytes), name)
	if lost > 0 {
		text += fmt.Sprintf(", %d without an answer", lost)
	}
	return number(longest/1e9, count, "%s", text)
}
