package analyze

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
	humanize "github.com/dustin/go-humanize"
)

// selfCheckCode marks what the client's self-check says of a load.
const selfCheckCode = "self-check"

// selfCheck is what was found of the column's client, nil if nothing was, or on
// another machine.
func (c *column) selfCheck() *results.SelfCheck {
	if c.manifest == nil || c.manifest.SelfCheck == nil || c.manifest.SelfCheck.Elsewhere(c.manifest.Client) != "" {
		return nil
	}
	return c.manifest.SelfCheck
}

// selfCheckNotes say how exactly the clients pace, each once.
func selfCheckNotes(columns []*column) (notes []string) {
	var said remarks
	for _, c := range columns {
		if s := c.selfCheck(); s != nil {
			said.add(c.tag, selfCheckText(s))
		}
	}
	for _, text := range said.texts {
		of := ""
		if len(said.tags[text]) < len(columns) {
			of = " for " + strings.Join(said.tags[text], ", ")
		}
		notes = append(notes, "self-check"+of+" "+text)
	}
	return notes
}

// selfCheckText is a check in one line.
func selfCheckText(s *results.SelfCheck) string {
	paces := fmt.Sprintf("paces up to %s/s accurately", rateNumber(s.HighestRate))
	if s.HighestRate == 0 {
		paces = "paces no rate that was tried accurately"
	}
	var missed []string
	for _, rate := range s.MissedRates {
		missed = append(missed, rateNumber(rate)+"/s")
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

// selfCheckFact adds how true latencies were, who checked, and whether it was the
// client.
func selfCheckFact(m *results.Manifest) string {
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
		if !results.Enough(.99, clock.N) {
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

// rateMark is the mark of a load that was due faster than the self-check of its
// client found accurate, nil if there is nothing to say.
func (c *column) rateMark() *results.Mark {
	s, most := c.selfCheck(), c.highestRate()
	if s == nil || most <= s.HighestRate {
		return nil
	}
	found := fmt.Sprintf("at most %s/s", rateNumber(s.HighestRate))
	if s.HighestRate == 0 {
		found = "no rate"
	}
	return &results.Mark{Code: selfCheckCode, Text: fmt.Sprintf("%s requests/s were due, and the self-check found that this client paces %s accurately: see LATE and LATENESS", rateNumber(most), found)}
}

// highestRate is the most requests that were due in a second, 0 in a closed loop.
func (c *column) highestRate() float64 {
	if len(c.run.Steps) == 0 {
		return max(c.run.Load.Rate, c.run.Load.RateEnd)
	}
	most := 0.0
	for _, s := range c.run.Steps {
		most = max(most, s.Rate, s.RateEnd)
	}
	return most
}

// msText is a time in milliseconds.
func msText(ns int64) string { return fmt.Sprintf("%.3f ms", float64(ns)/1e6) }
