package cause

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
)

// Words for programs.
const (
	verdictNamed  = "named"
	verdictPartly = "partly"
	verdictNone   = "none found"
)

// Explain returns the causes behind response times on some databases, at the largest step of each,
// and a sentence about them if a cause is named.
func (Half) Explain(names []string, runs [][]*run.Run) *abilities.Explanation {
	e := &abilities.Explanation{}
	found := false
	var texts []string
	for i, name := range names {
		one := explained(runs[i])
		if one.Runs == 0 {
			continue
		}
		one.Database = name
		e.Databases = append(e.Databases, one)
		found = found || len(one.Causes) > 0
		texts = append(texts, sentence(one, len(names) > 1))
	}
	if len(e.Databases) == 0 {
		return nil
	}
	if found {
		e.Sentence = "Where the mean response time went: " + cmp.Or(alike(e.Databases), strings.Join(texts, "; ")) + "."
	}
	return e
}

// alike returns its part of the sentence if several databases all have the same only cause; else
// "".
func alike(databases []abilities.Explained) string {
	var texts []string
	for _, d := range databases {
		if len(d.Causes) != 1 || d.Causes[0].Words != databases[0].Causes[0].Words || d.Causes[0].Verdict != databases[0].Causes[0].Verdict {
			return ""
		}
		texts = append(texts, label(d)+" "+share(d, d.Causes[0]))
	}
	if len(texts) < 2 {
		return ""
	}
	return degree(databases[0].Causes[0]) + ": " + strings.Join(texts, ", ")
}

// label returns a database name, with the step if there are several.
func label(d abilities.Explained) string {
	if d.Step == "" {
		return d.Database
	}
	preposition := "with" // 50 clients
	switch {
	case strings.HasPrefix(d.Step, run.RateText(0, 0)):
		preposition = "in the" // closed loop
	case strings.HasSuffix(d.Step, "/s due") && !strings.Contains(d.Step, ","):
		preposition = "at"
	}
	return d.Database + " " + preposition + " " + d.Step
}

// degree returns the words for a cause, with its degree.
func degree(c abilities.Cause) string {
	if c.Verdict == verdictPartly {
		return "partly " + c.Words
	}
	return c.Words
}

// share returns the share for a cause, and how many runs it was found in if not in all.
func share(d abilities.Explained, c abilities.Cause) string {
	low, high := math.Round(c.Low), math.Round(c.High)
	text := fmt.Sprintf("%.0f to %.0f %%", low, high)
	if low == high {
		text = fmt.Sprintf("%.0f %%", high)
	}
	if c.Runs < d.Runs {
		text += fmt.Sprintf(" (%d of %d runs)", c.Runs, d.Runs)
	}
	return text
}

// explained returns the causes that at least half the runs with a ledger have.
func explained(runs []*run.Run) abilities.Explained {
	one := abilities.Explained{Verdict: verdictNone, Causes: []abilities.Cause{}}
	named := map[string]int{}
	for _, r := range runs {
		if len(r.Stages) == 0 {
			continue
		}
		g := r.Stages[run.Largest(r.Stages)]
		a := accountOf(r, g)
		if a.entries == nil {
			continue
		}
		one.Step = g.Label
		one.Runs++
		for _, s := range a.verdict.Suspects {
			if s.Degree == None {
				continue
			}
			if s.Degree == Named {
				named[s.Name]++
			}
			at := slices.IndexFunc(one.Causes, func(c abilities.Cause) bool { return c.Name == s.Name })
			if at < 0 {
				at = len(one.Causes)
				one.Causes = append(one.Causes, abilities.Cause{Name: s.Name, Words: s.Words, Low: s.Share.Low})
			}
			c := &one.Causes[at]
			c.Runs, c.Low, c.High = c.Runs+1, min(c.Low, s.Share.Low), max(c.High, s.Share.High)
		}
	}
	one.Causes = slices.DeleteFunc(one.Causes, func(c abilities.Cause) bool { return 2*c.Runs < one.Runs })
	for i := range one.Causes {
		c := &one.Causes[i]
		c.Verdict = verdictPartly
		if 2*named[c.Name] >= one.Runs {
			c.Verdict, one.Verdict = verdictNamed, verdictNamed
		} else if one.Verdict == verdictNone {
			one.Verdict = verdictPartly
		}
	}
	slices.SortStableFunc(one.Causes, func(a, b abilities.Cause) int { return cmp.Compare(b.Low, a.Low) })
	return one
}

// sentence returns the part of the sentence about a database.
func sentence(e abilities.Explained, several bool) string {
	var parts []string
	for _, c := range e.Causes {
		parts = append(parts, degree(c)+", "+share(e, c))
	}
	text := strings.Join(parts, ", and ")
	if text == "" {
		text = verdictNone
	}
	if !several {
		e.Database = ""
	}
	of := strings.TrimSpace(label(e))
	if of != "" {
		text = of + ": " + text
	}
	return text
}
