package control

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
)

// Verdict is the judgement on a database in a trial.
type Verdict struct {
	// Trial counts from 1 to Trials.
	Trial, Trials int
	Tag           string
	State         results.State
	Marks         []results.Mark
	// Loaded reports whether any request was due.
	Loaded bool
	// Unfound is the object that the load was sent for and did not find.
	Unfound Unfound
}

// Unfound names the object that a load did not find, and the reason; zero for nothing.
type Unfound struct{ What, Why string }

// Valid reports whether the load is complete and no mark makes it invalid.
func (v Verdict) Valid() bool { return v.State == results.StateComplete && len(v.codes(true)) == 0 }

// String returns the verdict in a line: "etcd: not valid: failed requests; marks: shared host". The
// mark texts are in the manifest.
func (v Verdict) String() string {
	invalid, marks := v.codes(true), v.codes(false)
	line := v.Tag + ": valid"
	switch {
	case len(invalid) > 0:
		line = v.Tag + ": not valid: " + strings.Join(invalid, ", ")
	case v.State != results.StateComplete:
		line = v.Tag + ": " + string(v.State)
	}
	if len(marks) > 0 {
		line += "; marks: " + strings.Join(marks, ", ")
	}
	return line
}

// codes returns the distinct codes of marks that make the run invalid, or of other marks.
func (v Verdict) codes(invalid bool) []string {
	var codes []string
	for _, m := range v.Marks {
		if m.Invalid == invalid && !slices.Contains(codes, m.Code) {
			codes = append(codes, m.Code)
		}
	}
	return codes
}
