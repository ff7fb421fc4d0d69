// Package logrule turns log lines into events: the time, the kind, and the duration or the
// amount, where the line has it. Rules are data, which drivers declare and manifests keep. A line
// takes time and memory in proportion to its length, which is bounded.
package logrule

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/results/declared"
)

// durations returns the units in which lines give durations as numbers.
func durations() map[string]time.Duration {
	return map[string]time.Duration{"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second}
}

// rule is compiled from a [declared.LogRule].
type rule struct {
	declared.LogRule
	pattern, value *regexp.Regexp // value is nil without one
	unit           time.Duration  // 0 if the value is an amount, or text
}

// stamp finds a line's time, compiled.
type stamp struct {
	pattern *regexp.Regexp
	layout  string
}

// Matcher applies rules to lines. It does not change.
type Matcher struct {
	rules []rule
	times []stamp
}

// Compile returns a matcher for the rules. Unusable rules are left out; the error names them all.
func Compile(rules []declared.LogRule, times []declared.LogTime) (*Matcher, error) {
	m := &Matcher{}
	var errs []error
	for _, r := range rules {
		c, err := compile(r)
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

func compile(r declared.LogRule) (c rule, err error) {
	c.LogRule = r
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

// oneGroup compiles an expression, which must have one group.
func oneGroup(pattern string) (*regexp.Regexp, error) {
	e, err := regexp.Compile(pattern)
	if err == nil && e.NumSubexp() != 1 {
		err = fmt.Errorf("%q must have one group, it has %d", pattern, e.NumSubexp())
	}
	return e, err
}

// Found is an event in a line.
type Found struct {
	// Event is the event kind.
	Event string
	// Duration is 0 if the line does not give one.
	Duration time.Duration
	// Amount is in Unit; Unit is "" if the line does not give an amount.
	Amount float64
	Unit   string
}

// Match returns the events in a line, in rule order.
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

// take sets an event value. A value that is not a number is left out.
func (r *rule) take(text string, f *Found) {
	if r.Unit == declared.UnitText {
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

// maxDuration is more than any event takes: a longer value is not a duration.
const maxDuration = 365 * 24 * time.Hour

// maxAmount is more than any event counts.
const maxAmount = 1e18

// Time returns the time of a line, false for a line without one. A time without a year is in year.
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
