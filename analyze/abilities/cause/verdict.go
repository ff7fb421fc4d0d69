package cause

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
)

// Rule names a cause of a part of the response time. It has a file of its own, with the lines that
// convict.
type Rule struct {
	// Name is a word for programs. Words name it for readers, and Shared where members and
	// clients share a machine, "" for the same. Rules with the same words are one.
	Name, Words, Shared string
	Lines               []string
	// Over is the share, in percent, over which it is named, and Partly that from which it is
	// named as a part, by the lower bounds of the lines.
	Over, Partly float64
	// Numbers returns the numbers behind the lines, all of which have a value.
	Numbers func(*Facts) string
	// AtLeast, if not nil, returns a lower bound of the share, in percent, that does not follow from
	// the lines.
	AtLeast func(*Facts) float64
}

// The usual thresholds of rules, and the smallest share of other parts that the verdict mentions, all in
// percent. It also mentions suspects whose upper bound reaches Partly.
const (
	over, partly, mentioned = 50.0, 30.0, 5.0
	mostMentioned           = 3
)

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{clientRule(), outsideRule(), quotaRule(), fsyncRule(), peersRule(), processorsRule()}
}

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

// Verdict names the causes of the response time.
type Verdict struct {
	// Suspects are in the order of their lower bounds, and of their values where these are equal.
	Suspects []Suspect
	// Unexplained is the share of the rest. Queued is the share of all in which requests waited
	// for a free client, without which all other shares are: it follows from the others.
	Unexplained, Queued float64
	// Shared is a copy of the field of the facts.
	Shared bool
}

// Judge returns the verdict on a ledger.
func Judge(f *Facts, entries []Entry) *Verdict {
	of := map[string]run.Measure{}
	for _, e := range entries {
		of[e.Name] = e.Millis
	}
	all := f.Response.Value - of[nameFreeClient].Value
	v := &Verdict{Shared: f.Shared, Queued: 100 * of[nameFreeClient].Value / f.Response.Value}
	if all <= 0 {
		return v
	}
	// Lines that overlap sum to more than there was, and each may have all of that.
	overlap := max(-of[Unexplained].Value, 0)
	v.Unexplained = 100 * of[Unexplained].Value / all
	for _, r := range Rules() {
		share, known := run.Measured(0, f.Response.N), false
		for _, name := range r.Lines {
			if m := of[name]; m.Known() {
				low, high := bounds(m)
				share.Value, share.Low, share.High = share.Value+m.Value, share.Low+low, share.High+high
				known = true
			}
		}
		if !known {
			continue
		}
		share.Low = max(share.Low-overlap, 0)
		if f.Shared {
			r.Words = cmp.Or(r.Shared, r.Words)
		}
		s := Suspect{Rule: r, Share: share.Times(100 / all), Text: r.Numbers(f)}
		if r.AtLeast != nil {
			s.least = r.AtLeast(f)
		}
		v.add(s)
	}
	for i := range v.Suspects {
		s := &v.Suspects[i]
		more := max(s.least-s.Share.Value, 0) // of the rest, if there is as much
		v.Unexplained -= min(more, max(v.Unexplained, 0))
		s.Share.Value, s.Share.Low, s.Share.High = s.Share.Value+more, max(s.Share.Low, s.least), max(s.Share.High, s.least)
		s.Share.Value, s.Share.High = min(s.Share.Value, 100), min(s.Share.High, 100)
		switch {
		case s.Share.Low > s.Over:
			s.Degree = Named
		case s.Share.Low >= s.Partly:
			s.Degree = Partly
		}
	}
	slices.SortStableFunc(v.Suspects, func(a, b Suspect) int {
		return cmp.Or(cmp.Compare(b.Share.Low, a.Share.Low), cmp.Compare(b.Share.Value, a.Share.Value))
	})
	return v
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
		o.Name, o.least = s.Name, max(o.least, s.least) // the later one is further inside, and says less
		o.Share.Value, o.Share.Low, o.Share.High = o.Share.Value+s.Share.Value, o.Share.Low+s.Share.Low, o.Share.High+s.Share.High
		return
	}
	v.Suspects = append(v.Suspects, s)
}

// Of returns the suspects of a degree.
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
