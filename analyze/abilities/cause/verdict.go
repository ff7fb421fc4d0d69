package cause

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
)

// Rule names a cause that takes a part of the response time. It has its own file, with its ledger
// lines.
type Rule struct {
	// Name is a word for programs. Words name it for readers, and Shared where members and
	// clients share a machine, "" for the same. Rules with the same words are one.
	Name, Words, Shared string
	Lines               []string
	// Over is the share, in percent, above which it is named, and Partly the share from which it is
	// named as a part, by lower bounds.
	Over, Partly float64
	// Numbers returns the numbers behind the lines, which all have a value.
	Numbers func(*Facts) string
	// AtLeast, if not nil, returns a lower bound for the share, in percent, that does not follow
	// from the lines.
	AtLeast func(*Facts) float64
}

// The usual rule thresholds, and the smallest share of other parts that the verdict mentions, all
// in percent. It also mentions suspects whose upper bound reaches Partly.
const (
	over, partly, mentioned = 50.0, 30.0, 5.0
	mostMentioned           = 3
)

// Degree is how far a share convicts.
type Degree int

// The degrees, in order.
const (
	None Degree = iota
	Partly
	Named
)

// Suspect is a rule with its share of the response time, in percent, and its numbers. The share
// has both bounds.
type Suspect struct {
	Rule
	Share  run.Measure
	Text   string
	Degree Degree
	least  float64 // the share by AtLeast, in percent
}

// Verdict names the causes behind the response time.
type Verdict struct {
	// Suspects are ordered by their lower bounds, and by their values where these are equal.
	Suspects []Suspect
	// Unexplained is the share for the rest. Queued is the share of the total in which requests
	// waited for a free client. All other shares leave it out, because it follows from the others.
	Unexplained, Queued float64
	// Shared is copied from the facts.
	Shared bool
}

// add adds a suspect, to one with the same words if there is one.
func (v *Verdict) add(s Suspect) {
	for i := range v.Suspects {
		o := &v.Suspects[i]
		if o.Words != s.Words {
			continue
		}
		if s.Share.Value > o.Share.Value || s.least > 0 {
			o.Text = s.Text
		}
		o.Name, o.least = s.Name, max(o.least, s.least) // the later one is further inside and less informative
		o.Share.Value, o.Share.Low, o.Share.High = o.Share.Value+s.Share.Value, o.Share.Low+s.Share.Low, o.Share.High+s.Share.High
		return
	}
	v.Suspects = append(v.Suspects, s)
}

// Of returns the suspects with a degree.
func (v *Verdict) Of(d Degree) (list []Suspect) {
	for _, s := range v.Suspects {
		if s.Degree == d {
			list = append(list, s)
		}
	}
	return list
}

// Found reports whether anything is named, or named as a part.
func (v *Verdict) Found() bool { return len(v.Of(Named))+len(v.Of(Partly)) > 0 }

// Unclear reports whether bounds are so wide that something might have been named.
func (v *Verdict) Unclear() bool {
	return !v.Found() && slices.ContainsFunc(v.Suspects, func(s Suspect) bool { return s.Share.High > s.Over })
}

// String returns the verdict in a line.
func (v *Verdict) String() string {
	var parts []string
	for _, s := range v.Of(Named) {
		parts = append(parts, fmt.Sprintf("%s %s: %s", s.Words, percent(s.Share), s.Text))
	}
	for _, s := range v.Of(Partly) {
		parts = append(parts, fmt.Sprintf("partly %s %s: %s", s.Words, percent(s.Share), s.Text))
	}
	text := strings.Join(parts, "; ")
	if !v.Found() {
		text = "none found"
	}
	var others []string
	for _, s := range v.Of(None) {
		if (s.Share.Value >= mentioned || s.Share.High >= s.Partly) && len(others) < mostMentioned {
			others = append(others, s.Words+" "+percent(s.Share))
		}
	}
	if math.Abs(v.Unexplained) >= mentioned {
		others = append(others, fmt.Sprintf("unexplained %.0f %%", v.Unexplained))
	}
	if len(others) > 0 {
		text += map[bool]string{true: "; then ", false: ": "}[v.Found()] + strings.Join(others, ", ")
	}
	if v.Unclear() {
		text += "; the waits for processors on this machine leave the bounds too wide to tell: free processors would"
		if v.Shared {
			text += ", or members on machines of their own"
		}
	}
	if v.Queued >= mentioned {
		text += fmt.Sprintf("; all without the wait for a free client, %.0f %% of AVG-LATENCY", v.Queued)
	}
	return text
}

// percent formats a share with its bounds.
func percent(m run.Measure) string {
	value, low, high := math.Round(m.Value), math.Round(m.Low), math.Round(m.High)
	if low == high {
		return fmt.Sprintf("%.0f %%", value)
	}
	return fmt.Sprintf("%.0f %% [%.0f .. %.0f]", value, low, high)
}

// millis formats milliseconds.
func millis(m run.Measure) string {
	if !m.Known() {
		return "an unknown time"
	}
	return fmt.Sprintf("%.3g ms", m.Value)
}
