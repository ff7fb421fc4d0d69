package headline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/answers"
)

// Grade states the use that a report is good for.
//
//   - A, to decide by: the client had its own machine, there are enough trials to
//     distinguish the databases, and no doubt could change the order.
//   - B, a hint: one of the last two conditions fails.
//   - C, a look: one run, too few trials to name any winner, or clients and members on the
//     same machine.
//   - none: no database has valid numbers.
type Grade struct {
	Letter string `json:"letter"`
	// Use is the meaning of the letter. Text explains why the grade is not better.
	Use  string `json:"use"`
	Text string `json:"text"`
}

const (
	GradeA = "A"
	GradeB = "B"
	GradeC = "C"
)

// String formats the grade as one line.
func (g Grade) String() string {
	if g.Letter == "" {
		return g.Use + ": " + g.Text
	}
	return fmt.Sprintf("Grade %s, %s: %s", g.Letter, g.Use, g.Text)
}

// gradeOf applies the rules documented at [Grade].
func gradeOf(a *answers.Answer, columns []answers.Column, doubts []Doubt) Grade {
	var look []string
	if text := sharedHost(columns); text != "" {
		look = append(look, text)
	}
	switch most := mostTrials(columns); {
	case most == 1 && len(columns) == 1:
		look = append(look, "it ran once")
	case most == 1:
		look = append(look, "each ran once")
	case a.Look:
		look = append(look, "there are too few trials to name a winner")
	}
	could := slices.ContainsFunc(doubts, func(d Doubt) bool { return d.Could })
	switch {
	case !slices.ContainsFunc(columns, func(c answers.Column) bool { return c.Valid }):
		return Grade{Use: "not valid", Text: "the numbers must not be used."}
	case len(look) > 0:
		return Grade{GradeC, "a look", strings.Join(look, ", and ") + "."}
	case could:
		return Grade{GradeB, "a hint", "a doubt below could change the order."}
	case len(columns) > 1 && len(a.Claims) == 0:
		return Grade{GradeB, "a hint", "the trials show no difference between any two databases."}
	}
	return Grade{GradeA, "to decide by", "the client had a machine of its own, and no doubt could change the order."}
}

func mostTrials(columns []answers.Column) (most int) {
	for _, c := range columns {
		most = max(most, len(c.Runs))
	}
	return most
}

// sharedHost states that clients and members share a machine; "" if they do not.
func sharedHost(columns []answers.Column) string {
	for _, c := range columns {
		for _, r := range c.Runs {
			if !r.ClientShares() {
				continue
			}
			if m := r.Info.Manifest; m != nil && m.Client.AllowedCPUs() > 0 {
				return fmt.Sprintf("clients and members share a machine with %g processors", float64(m.Client.AllCPUs()))
			}
			return "clients and members share a machine"
		}
	}
	return ""
}
