package yamlfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is one error or warning about a file.
type Problem struct {
	// File is "" for the value of a flag. Text then begins with the flag.
	File string `json:"file"`
	// Line and Col count from 1. Both are 0 if the problem has no place.
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"`
	Text    string `json:"text"`
	Warning bool   `json:"warning,omitempty"`
}

// String returns file:line:col: text, or file: text without a place, or only the text without a
// file.
func (p Problem) String() string {
	kind := ""
	if p.Warning {
		kind = "warning: "
	}
	switch {
	case p.File == "":
		return kind + p.Text
	case p.Line == 0:
		return fmt.Sprintf("%s: %s%s", p.File, kind, p.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s%s", p.File, p.Line, p.Col, kind, p.Text)
}

// Problems holds all errors in a file, in file order. A pointer to it is an error.
type Problems []Problem

// Error returns one line for each problem.
func (p *Problems) Error() string {
	lines := make([]string, len(*p))
	for i, one := range *p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// AsProblems returns the problems that err is or wraps. It returns nil for any other error, such as
// a file that cannot be opened.
func AsProblems(err error) []Problem {
	var p *Problems
	if errors.As(err, &p) {
		return *p
	}
	return nil
}

// inFileOrder sorts problems by place and drops repeated ones. Problems without a place come last.
func inFileOrder(list []Problem) []Problem {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			return b.Line - a.Line
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	var once []Problem
	seen := map[Problem]bool{}
	for _, p := range list {
		if !seen[p] {
			seen[p] = true
			once = append(once, p)
		}
	}
	return once
}
