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

// Explain returns what the response times of some databases were spent on, at the largest step of
// each, and a sentence about them if anything is named.
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
		e.Sentence = "Where the mean response time went: " + strings.Join(texts, "; ") + "."
	}
	return e
}

// explained returns what at least half of a database's runs with a ledger have in common.
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
		text := c.Words
		if c.Verdict == verdictPartly {
			text = "partly " + text
		}
		if low, high := math.Round(c.Low), math.Round(c.High); low == high {
			text += fmt.Sprintf(", %.0f %%", high)
		} else {
			text += fmt.Sprintf(", %.0f to %.0f %%", low, high)
		}
		if c.Runs < e.Runs {
			text += fmt.Sprintf(" (%d of %d runs)", c.Runs, e.Runs)
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", and ")
	if text == "" {
		text = verdictNone
	}
	of := e.Database
	if !several {
		of = ""
	}
	if e.Step != "" {
		of = strings.TrimSpace(of + " with " + e.Step)
	}
	if of != "" {
		text = of + ": " + text
	}
	return text
}
