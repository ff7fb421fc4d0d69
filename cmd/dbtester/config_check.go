package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

// checkedFile holds the results of config check for one file.
type checkedFile struct {
	File      string             `json:"file"`
	OK        bool               `json:"ok"`
	Duration  string             `json:"expected_duration,omitempty"`
	Databases []checkedDatabase  `json:"databases"`
	Problems  []yamlfile.Problem `json:"problems"`
}

// checkedDatabase holds the expectations for one database.
type checkedDatabase struct {
	Tag      string   `json:"tag"`
	Expected []string `json:"expected"`
}

// print prints a file without problems.
func (c checkedFile) print(out io.Writer) {
	fmt.Fprintf(out, "%s: %s\n", c.File, c.summary())
	for _, d := range c.Databases {
		if len(d.Expected) > 0 {
			fmt.Fprintf(out, "  %s: %s\n", d.Tag, strings.Join(d.Expected, "; "))
		}
	}
}

func (c checkedFile) summary() string {
	return fmt.Sprintf("ok, %s, expected duration %s", english.Plural(len(c.Databases), "database", ""), c.Duration)
}

// problemsOf returns the problems in an error, with their places if it has some.
func problemsOf(file string, err error) []yamlfile.Problem {
	problems := []yamlfile.Problem{}
	if err == nil {
		return problems
	}
	if found := yamlfile.AsProblems(err); found != nil {
		return append(problems, found...)
	}
	for line := range strings.SplitSeq(message(err), "\n") {
		problems = append(problems, yamlfile.Problem{File: file, Text: line})
	}
	return problems
}

// checkedListing returns a row for each file without problems, and one for each problem.
func checkedListing(files []checkedFile) listing {
	l := listing{header: []string{"file", "line", "column", "result", "text"}, value: files}
	for _, c := range files {
		if c.OK {
			l.rows = append(l.rows, []string{c.File, "", "", "ok", c.summary()})
		}
		for _, p := range c.Problems {
			row := []string{p.File, "", "", "error", p.Text}
			if p.Line > 0 {
				row[1], row[2] = strconv.Itoa(p.Line), strconv.Itoa(p.Col)
			}
			l.rows = append(l.rows, row)
		}
	}
	return l
}
