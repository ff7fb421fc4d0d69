package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Availability describes the part of a stage's load that the database answered.
type Availability struct {
	// Success is the percentage of due requests that ended ok.
	Success Measure
	// Declined counts the requests that the database declined because an earlier request in the
	// same load made them fail: see [results.Declined].
	Declined Measure
	// DeclinedShare is Declined as a percentage of due requests. If not 0, Success carries a mark,
	// because declined requests were answered.
	DeclinedShare Measure
	// WithoutServer is the percentage of client time, within the measured windows, during which a
	// client had no server.
	WithoutServer Measure
	// ConnectionsLost and Reconnects count connections.
	ConnectionsLost, Reconnects Measure
	// Gap is the longest interval without an ok answer in a measured window, in ms. GapAt describes
	// its position.
	Gap   Measure
	GapAt string
}

// notThen marks a number that format 1 records lack.
func notThen() Measure {
	return Measure{Words: string(results.NotRecorded), Missing: "the records have an older format without this number"}
}

// older reports whether the records have format 1.
func (i *Info) older() bool { return i.Manifest != nil && i.Manifest.Format < 2 }

// Unrecorded is the reason for a number that format 1 records lack.
func (i *Info) Unrecorded() Measure {
	if i.older() {
		return notThen()
	}
	return Missing("not recorded")
}

// noAvailability gives every number the same reason for being missing.
func noAvailability(why Measure) Availability {
	return Availability{Success: why, Declined: why, DeclinedShare: why, WithoutServer: why, ConnectionsLost: why, Reconnects: why, Gap: why}
}

// setDeclined sets the declined requests for a load that can have some.
func (a *Availability) setDeclined(l *workload.Load, n int64) {
	a.Declined = Counted(n)
	if !a.Success.Known() {
		a.DeclinedShare = a.Success
		return
	}
	a.DeclinedShare = Measured(100*float64(n)/float64(a.Success.N), a.Success.N)
	if n == 0 {
		return
	}
	var why []string
	if l.Any(workload.Op.Contends) {
		why = append(why, "lost swaps")
	}
	if l.Any(workload.Op.Deletes) {
		why = append(why, "keys that the load had deleted")
	}
	a.Success.Marks = append(a.Success.Marks, fmt.Sprintf("%.2g %% more were answered and declined: %s", a.DeclinedShare.Value, strings.Join(why, ", ")))
}

func availabilityOf(info *Info, g *Stage, s *results.Summary) Availability {
	a := noAvailability(info.Unrecorded())
	if n := s.OK + s.Declined.TotalCount() + s.Unanswered.N; n > 0 {
		a.Success = Measured(100*float64(s.OK)/float64(n), n)
	} else {
		a.Success = Missing("no request was measured")
	}
	if info.older() {
		return a
	}
	a.Declined = Inapplicable("only loads that swap or delete have it")
	if record := info.Record; record.Load.Any(func(op workload.Op) bool { return op.Contends() || op.Deletes() }) {
		a.setDeclined(&record.Load.Load, s.Declined.TotalCount())
	} else {
		a.DeclinedShare = a.Declined
	}
	var waiting, time float64
	var lost, again int64
	found := 0
	for _, step := range info.Record.Steps {
		if !slices.Contains(g.Steps, step.Index) || step.End.IsZero() {
			continue
		}
		found++
		from, to := info.Record.Measured(step)
		waiting += float64(step.WaitingNS)
		time += float64(step.Clients) * float64(to.Sub(from))
		lost += step.ConnectionsLost
		again += step.Reconnects
		a.setGap(info.Record, step)
	}
	if found < len(g.Steps) || found == 0 { // the run was killed
		return a
	}
	a.ConnectionsLost, a.Reconnects = Counted(lost), Counted(again)
	if time > 0 {
		a.WithoutServer = Measured(100*waiting/time, 0)
	}
	return a
}

// setGap keeps the gap if it is the longest so far.
func (a *Availability) setGap(record *results.DatabaseRun, step results.Step) {
	gap := step.LargestGap
	if gap == nil {
		return
	}
	ms := float64(gap.Length()) / 1e6
	if a.Gap.Known() && a.Gap.Value >= ms {
		return
	}
	a.Gap = Measured(ms, 0)
	if !gap.Exact() {
		a.Gap.Value = float64(results.ProgressTick) / 1e6
		a.Gap.Low, a.Gap.High = ms, a.Gap.Value
		a.GapAt = ""
		return
	}
	at := step.Start.Add(time.Duration(gap.FromNS)).Sub(record.LoadStart)
	a.GapAt = fmt.Sprintf("from %.1f s", at.Seconds())
	switch {
	case gap.FromStart && gap.ToEnd:
		a.GapAt += ", no ok answer in the whole window"
	case gap.FromStart:
		a.GapAt += ", before the first ok answer"
	case gap.ToEnd:
		a.GapAt += ", to the end"
	}
}
