package forecast

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/pkg/config"
)

// Lines describes a forecast, one line for each fact.
func (f Forecast) Lines() []string {
	var lines []string
	if length := f.LengthText(); length != "" {
		lines = append(lines, "expected duration: "+length)
	}
	for _, n := range f.Needs {
		about := "about"
		if f.guesses(n) {
			about = "perhaps"
		}
		line := fmt.Sprintf("%s of each member: %s %s", n.Resource, about, Bytes(n.Bytes))
		if n.Limit > 0 {
			line += fmt.Sprintf(" of %s (%s)", Bytes(n.Limit), n.Option)
		}
		if n.Why != "" {
			line += ": " + n.Why
		}
		lines = append(lines, line)
	}
	return lines
}

// LengthText describes the duration of the load; "" without a load.
func (f Forecast) LengthText() string {
	switch {
	case f.Exact && f.Length == 0:
		return ""
	case f.Length == 0:
		return "not known: it depends on the throughput"
	case f.Exact:
		return Duration(f.Length)
	}
	return "about " + Duration(f.Length)
}

// Duration prints a time in whole seconds, or in minutes or hours if it is long.
func Duration(d time.Duration) string {
	switch {
	case d > 10000*time.Hour:
		return "more than a year"
	case d >= 10*time.Hour:
		d = d.Round(time.Hour)
	case d >= 10*time.Minute:
		d = d.Round(time.Minute)
	default:
		d = max(d.Round(time.Second), time.Second)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Total describes the duration of all loads in an experiment, and the pauses between trials. It
// leaves out the time to start and stop members.
func Total(e *config.Experiment, all []Forecast) string {
	var sum time.Duration
	exact, unknown := true, 0
	for _, f := range all {
		sum += f.Length
		exact = exact && f.Exact
		if f.Length == 0 && !f.Exact {
			unknown++
		}
	}
	trials := time.Duration(max(e.Trials, 1))
	text := Duration(sum*trials + e.Settle*(trials-1))
	if !exact {
		text = "about " + text
	}
	if unknown > 0 {
		text = fmt.Sprintf("more than %s: %d of %s databases have no known throughput", strings.TrimPrefix(text, "about "), unknown, humanize.Comma(int64(len(all))))
	}
	return text
}
