package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// failed returns the names of the checks that failed, CASE: CHECK.
func (v Verdict) failed() (names []string) {
	if v.Error != nil {
		return []string{v.Case.Name + ": " + v.Error.Error()}
	}
	for _, c := range v.Checks {
		if !c.OK {
			names = append(names, v.Case.Name+": "+c.What)
		}
	}
	return names
}

func (v Verdict) summary() string {
	if v.Error != nil {
		return "not run: " + v.Error.Error()
	}
	return fmt.Sprintf("%d of %d checks failed", len(v.failed()), len(v.Checks))
}

// surprises is an error that names each case that fails and is not known to, and
// each that is known to fail and passes. Unsteady cases are not named.
func surprises(verdicts []Verdict) error {
	var errs []error
	for _, v := range verdicts {
		failed, known := v.failed(), knownFailing[v.Case.Name]
		switch {
		case unsteady[v.Case.Name]:
		case len(failed) > 0 && !known:
			errs = append(errs, fmt.Errorf("a case fails that must pass:\n  %s", strings.Join(v.describe(), "\n  ")))
		case len(failed) == 0 && known:
			errs = append(errs, fmt.Errorf("%q passes: remove it from knownFailing", v.Case.Name))
		}
	}
	return errors.Join(errs...)
}

// describe gives one line for each failed check.
func (v Verdict) describe() (lines []string) {
	if v.Error != nil {
		return v.failed()
	}
	for _, c := range v.Checks {
		if !c.OK {
			lines = append(lines, fmt.Sprintf("%s: %s: want %s (tolerance %s), got %s", v.Case.Name, c.What, c.Truth, c.Tolerance, c.Got))
		}
	}
	return lines
}

func printVerdicts(w io.Writer, verdicts []Verdict, s Scale) {
	scale := "full scale"
	if !s.Full {
		scale = "small scale"
	}
	passed := 0
	for _, v := range verdicts {
		if len(v.failed()) == 0 {
			passed++
		}
	}
	fmt.Fprintf(w, "# Audit\n\nScripted servers with logs of their own, and real clusters that count their keys, read without this program's code; %s. %d of %d cases pass.\n", scale, passed, len(verdicts))
	for _, v := range verdicts {
		fmt.Fprintf(w, "\n## %s\n\nFound before: %s.\n\n", v.Case.Name, v.Case.Found)
		if v.Error != nil {
			fmt.Fprintf(w, "**Not run**: %v\n", v.Error)
			continue
		}
		fmt.Fprint(w, "| check | truth | reported | tolerance | verdict |\n|---|---|---|---|---|\n")
		for _, c := range v.Checks {
			verdict := "pass"
			if !c.OK {
				verdict = "**FAIL**"
			}
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", escape(c.What), escape(c.Truth), escape(c.Got), c.Tolerance, verdict)
		}
	}
}

func escape(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
