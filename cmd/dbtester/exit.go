package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coreos/dbtester/control"
)

// The exit codes, as in the README.
const (
	exitDone         = 0
	exitFailed       = 1
	exitUsage        = 2
	exitInvalid      = 3
	exitWorse        = 4
	exitInconclusive = 5
	exitInterrupted  = 130
)

// errInterrupted is the context cause after a signal.
var errInterrupted = errors.New("interrupted")

// usageError is a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// invalidError reports a run that is recorded but not valid (exit code 3).
type invalidError struct{ reasons []string }

// Error has one line per reason.
func (e *invalidError) Error() string {
	return "the run is recorded, but not valid:\n  " + strings.Join(e.reasons, "\n  ")
}

// worseError reports that B is worse or exceeds a bound, inconclusiveError that the result is
// unknown.
type (
	worseError        struct{ text string }
	inconclusiveError struct{ text string }
)

func (e *worseError) Error() string { return e.text }

func (e *inconclusiveError) Error() string { return e.text }

// notFoundError reports that searches did not find what they were for (exit code 3).
type notFoundError struct {
	what     string
	searches []string
}

func (e *notFoundError) Error() string {
	if len(e.searches) == 1 {
		return "no " + e.what + " was found: " + e.searches[0]
	}
	return "no " + e.what + " was found:\n  " + strings.Join(e.searches, "\n  ")
}

// message returns the text of err without repeated lines.
func message(err error) string {
	seen := map[string]bool{}
	var lines []string
	for _, line := range strings.Split(err.Error(), "\n") {
		if !seen[line] {
			lines = append(lines, line)
		}
		seen[line] = true
	}
	return strings.Join(lines, "\n")
}

// withNotFound adds searches without result to the run error, unless the run failed and has another
// exit code.
func withNotFound(err error, out *control.Outcome) error {
	var searches []string
	what := ""
	for _, v := range out.Verdicts {
		if v.Unfound.Why == "" {
			continue
		}
		of := v.Tag
		if v.Trials > 1 {
			of = fmt.Sprintf("%s, trial %d of %d", v.Tag, v.Trial, v.Trials)
		}
		what, searches = v.Unfound.What, append(searches, of+": "+v.Unfound.Why)
	}
	if invalid := (*invalidError)(nil); len(searches) == 0 || err != nil && !errors.As(err, &invalid) {
		return err
	}
	return errors.Join(err, &notFoundError{what, searches})
}
