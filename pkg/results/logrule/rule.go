// Package logrule turns lines of logs into events: when, what, and how long it took or
// how much it was, where the line gives that. Rules are data, which drivers declare and
// manifests keep. A line takes time and memory in proportion to its length, which is
// bounded.
package logrule

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Rule turns the lines that it matches into events.
type Rule struct {
	// Event is the kind of event, a few stable words such as "leader changed".
	Event string `json:"event"`
	// Pattern is a regular expression (RE2) that is searched in each line.
	Pattern string `json:"pattern"`
	// Value, if not empty, is a regular expression with one group, which holds a duration
	// or an amount in the lines that match Pattern. A line without it is an event too.
	Value string `json:"value,omitempty"`
	// Unit is that of the value: "ns", "us", "ms" or "s" for a duration as a number,
	// [UnitText] for one with its unit, as in 1.062s. Any other word names an amount.
	Unit string `json:"unit,omitempty"`
	// Help is one line on what the event means for a run.
	Help string `json:"help,omitempty"`
}

// UnitText is the unit of durations as Go prints them.
const UnitText = "text"

// durations are the units of durations as numbers.
func durations() map[string]time.Duration {
	return map[string]time.Duration{"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second}
}

// Field returns the Value of a field in lines of JSON.
func Field(name string) string { return `"` + regexp.QuoteMeta(name) + `":"?([^",}]*)` }

// Time finds the time of a line.
type Time struct {
	// Pattern is a regular expression with one group, which holds the time.
	Pattern string `json:"pattern"`
	// Layout is that of package time. A time without a zone is UTC, one without a year
	// is in the year of the run.
	Layout string `json:"layout"`
}

// rule is a Rule, compiled.
type rule struct {
	Rule
	pattern, value *regexp.Regexp // value is nil without one
	unit           time.Duration  // 0 if the value is an amount, or text
}

// stamp is a Time, compiled.
type stamp struct {
	pattern *regexp.Regexp
	layout  string
}

// Matcher applies rules to lines. It does not change.
type Matcher struct {
	rules []rule
	times []stamp
}

// Compile returns what applies the rules. Rules that cannot be used are left out; the
// error names them all.
func Compile(rules []Rule, times []Time) (*Matcher, error) {
	m := &Matcher{}
	var errs []error
	for _, r := range rules {
		c, err := r.compile()
		if err != nil {
			errs = append(errs, fmt.Errorf("log rule %q: %w", r.Event, err))
			continue
		}
		m.rules = append(m.rules, c)
	}
	for _, t := range times {
		pattern, err := oneGroup(t.Pattern)
		if err != nil {
			errs = append(errs, fmt.Errorf("time of log lines: %w", err))
			continue
		}
		m.times = append(m.times, stamp{pattern, t.Layout})
	}
	return m, errors.Join(errs...)
}

func (r Rule) compile() (c rule, err error) {
	c.Rule = r
	if r.Event == "" {
		return c, errors.New("it must have the name of an event")
	}
	if c.pattern, err = regexp.Compile(r.Pattern); err != nil {
		return c, err
	}
	if (r.Value == "") != (r.Unit == "") {
		return c, errors.New("value and unit must be given together")
	}
	if r.Value != "" {
		c.unit = durations()[r.Unit]
		c.value, err = oneGroup(r.Value)
	}
	return c, err
}

// oneGroup compiles an expression that must have one group.
func oneGroup(pattern string) (*regexp.Regexp, error) {
	e, err := regexp.Compile(pattern)
	if err == nil && e.NumSubexp() != 1 {
		err = fmt.Errorf("%q must have one group, it has %d", pattern, e.NumSubexp())
	}
	return e, err
}

// Found is an event in a line.
type Found struct {
	// Event is the kind of event.
	Event string
	// Duration is how long it took; 0 if the line does not give it.
	Duration time.Duration
	// Amount is how much it was, in Unit; Unit is "" if the line does not give it.
	Amount float64
	Unit   string
}

// Match returns the events of a line, in the order of the rules.
func (m *Matcher) Match(line []byte) []Found {
	var found []Found
	for i := range m.rules {
		r := &m.rules[i]
		if !r.pattern.Match(line) {
			continue
		}
		f := Found{Event: r.Event}
		if r.value != nil {
			if groups := r.value.FindSubmatch(line); groups != nil {
				r.take(string(groups[1]), &f)
			}
		}
		found = append(found, f)
	}
	return found
}

// take sets the value of an event. One that is not a number is left out.
func (r *rule) take(text string, f *Found) {
	if r.Unit == UnitText {
		if d, err := time.ParseDuration(text); err == nil {
			f.Duration = max(d, 0)
		}
		return
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	switch {
	case err != nil || !(v >= 0 && v < maxAmount):
	case r.unit == 0:
		f.Amount, f.Unit = v, r.Unit
	case v*float64(r.unit) < float64(maxDuration):
		f.Duration = time.Duration(v * float64(r.unit))
	}
}

// maxDuration is more than any event takes: what is longer is no duration.
const maxDuration = 365 * 24 * time.Hour

// maxAmount is more than any event counts.
const maxAmount = 1e18

// Time returns the time of a line, false for a line without one. A time without a year
// is in year.
func (m *Matcher) Time(line []byte, year int) (time.Time, bool) {
	for _, s := range m.times {
		groups := s.pattern.FindSubmatch(line)
		if groups == nil {
			continue
		}
		at, err := time.Parse(s.layout, string(groups[1]))
		if err != nil {
			continue
		}
		if at.Year() == 0 {
			at = at.AddDate(year, 0, 0)
		}
		return at.UTC(), true
	}
	return time.Time{}, false
}
