package table

import (
	"fmt"
	"strings"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// selfCheckNotes describe how exactly the clients pace, each text once.
func selfCheckNotes(runs []*run.Run) (notes []string) {
	var said run.PerTag
	for _, r := range runs {
		if s := r.Info.SelfCheck(); s != nil {
			said.Add(r.Info.Name(), selfCheckText(s))
		}
	}
	for _, text := range said.Texts() {
		of := ""
		if len(said.Tags(text)) < len(runs) {
			of = " for " + strings.Join(said.Tags(text), ", ")
		}
		notes = append(notes, "self-check"+of+" "+text)
	}
	return notes
}

// selfCheckText describes a self-check in one line.
func selfCheckText(s *results.SelfCheck) string {
	paces := fmt.Sprintf("paces up to %s/s accurately", run.RateNumber(s.HighestRate))
	if s.HighestRate == 0 {
		paces = "paces none of the tried rates accurately"
	}
	var missed []string
	for _, rate := range s.MissedRates {
		missed = append(missed, run.RateNumber(rate)+"/s")
	}
	if len(missed) > 0 {
		paces += " (not kept: " + strings.Join(missed, ", ") + ")"
	}
	p99 := func(s results.Spread) string {
		if s.Enough(.99) {
			return msText(s.P99)
		}
		return fmt.Sprintf("%s (n %s, few)", msText(s.P99), humanize.Comma(s.N))
	}
	return fmt.Sprintf("of %s: this client %s; a timer fires %s late at p99, a waiting client sends %s late",
		s.Date.UTC().Format("2006-01-02 15:04 UTC"), paces, p99(s.TimerLateness), p99(s.ClientLateness))
}

// SelfCheckFact also states how precise latencies are, the program that ran the check, and whether
// the check ran on another machine.
func SelfCheckFact(m *results.Manifest) string {
	s := m.SelfCheck
	if s == nil {
		return ""
	}
	parts := []string{selfCheckText(s)}
	for _, clock := range []struct {
		name string
		results.Compared
	}{{"response", s.ResponseP99}, {"service", s.ServiceP99}} {
		if clock.N == 0 {
			continue
		}
		few := ""
		if !histogram.Enough(.99, clock.N) {
			few = ", few"
		}
		parts = append(parts, fmt.Sprintf("%s p99 measured %s, true %s (n %s%s)",
			clock.name, msText(clock.Measured), msText(clock.True), humanize.Comma(clock.N), few))
	}
	parts = append(parts, strings.TrimSpace("by dbtester "+s.Tool.Version+" "+s.Tool.Commit))
	if elsewhere := s.Elsewhere(m.Client); elsewhere != "" {
		parts = append(parts, "but "+elsewhere)
	}
	return strings.Join(parts, "; ")
}

// msText formats nanoseconds as ms.
func msText(ns int64) string { return fmt.Sprintf("%.3f ms", float64(ns)/1e6) }

// selfCheckAdded continues the definition of a percentile.
const selfCheckAdded = " of service times minus the same percentile of the server's true delays, n requests: before the load, its heaviest step ran for a few seconds against a loopback server that speaks the database's own protocol with a known delay. The difference is the time that this client on this machine adds at this rate, including the loopback connection and the protocol on both sides"

// checked returns a cell from the self-check of the client with the largest value. It does not
// apply to runs without a check.
func checked(r *run.Run, value func(*results.LoadCheck) int64, cell func(*results.LoadCheck) Cell) Cell {
	for _, i := range r.Info.Record.Issuers() {
		if i.SelfCheck != nil && i.SelfCheck.Unavailable != "" {
			return missing("%s", i.SelfCheck.Unavailable)
		}
	}
	return worst(r, func(i results.Issuer) *results.LoadCheck { return i.SelfCheck }, value, cell, inapplicable("only runs with control --selfcheck auto have it"))
}

// selfCheckCell prints the quantile q of the time that the client added.
func selfCheckCell(q float64, get func(*results.LoadCheck) results.Compared) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		return checked(r, func(c *results.LoadCheck) int64 { return get(c).Added() }, func(c *results.LoadCheck) Cell {
			at := get(c)
			return spreadCell(q, at.Added(), at.N)
		})
	}
}

func selfCheckLateness(r *run.Run) Cell {
	late := func(c *results.LoadCheck) int64 {
		if c.Lateness == nil {
			return -1
		}
		return c.Lateness.P99
	}
	return checked(r, late, func(c *results.LoadCheck) Cell {
		if c.Lateness == nil {
			return inapplicable("only loads with a rate have it")
		}
		return spreadCell(.99, c.Lateness.P99, c.Lateness.N)
	})
}

// selfCheckThroughput prints the lowest throughput among clients, which limits the others.
func selfCheckThroughput(r *run.Run) Cell {
	return checked(r, func(c *results.LoadCheck) int64 { return -int64(c.RequestsPerSecond + .5) }, func(c *results.LoadCheck) Cell {
		return number(c.RequestsPerSecond, c.P50.N, "%s req/s", humanize.Comma(int64(c.RequestsPerSecond+.5)))
	})
}
