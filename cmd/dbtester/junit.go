package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/analyze/answers/choose"
	"github.com/coreos/dbtester/analyze/answers/compare"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// formatJUnit is the word for test results as continuous integration reads them.
const formatJUnit = "junit"

// testSuite is one report as JUnit XML: a case for each possible failure.
type testSuite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []testCase `xml:"testcase"`
}

// testCase is one verdict, mark or need. At most one result field is set; a case without a result
// passed.
type testCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Failure *testResult `xml:"failure"`
	Error   *testResult `xml:"error"`
	Skipped *testResult `xml:"skipped"`
	Out     string      `xml:"system-out,omitempty"`
}

// testResult explains why a case did not pass.
type testResult struct {
	Message string `xml:"message,attr"`
}

// encode counts the cases and encodes the suite. It escapes characters that terminals interpret
// or XML must not contain.
func (s testSuite) encode() ([]byte, error) {
	s.Name, s.Tests = plaintext.Line(s.Name), len(s.Cases)
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Class, c.Name, c.Out = plaintext.Line(c.Class), plaintext.Line(c.Name), plaintext.Visible(c.Out)
		for _, one := range []struct {
			result *testResult
			count  *int
		}{{c.Failure, &s.Failures}, {c.Error, &s.Errors}, {c.Skipped, &s.Skipped}} {
			if one.result != nil {
				one.result.Message = plaintext.Line(one.result.Message)
				*one.count++
			}
		}
	}
	data, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode as JUnit XML: %w", err)
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}

// junitOf makes a case for the validity of each database, with its marks as output, and one for the
// need. The need failed if no database meets it, and is skipped if that is unknown.
func junitOf(r *analyze.Report) ([]byte, error) {
	s := testSuite{Name: "dbtester " + r.Title}
	h := r.Headline
	for _, c := range h.Columns {
		one := testCase{Class: "dbtester.valid", Name: c.Name}
		var invalid, marks []string
		for _, reason := range h.Trust.Reasons {
			if len(reason.Of) > 0 && !slices.Contains(reason.Of, c.Name) && !slices.Contains(reason.Of, c.Text) {
				continue
			}
			if reason.Invalid {
				invalid = append(invalid, reason.String())
			} else {
				marks = append(marks, reason.String())
			}
		}
		if !c.Valid {
			one.Failure = &testResult{"not valid: " + strings.Join(invalid, "; ")}
		}
		one.Out = strings.Join(marks, "\n")
		s.Cases = append(s.Cases, one)
	}
	if h.Choice != nil {
		one := testCase{Class: "dbtester.need", Name: "need"}
		switch h.Choice.Outcome {
		case choose.Met:
			one.Out = h.Choice.Verdict
		case choose.NotMet:
			one.Failure = &testResult{h.Choice.Verdict}
		default:
			one.Skipped = &testResult{h.Choice.Verdict}
		}
		s.Cases = append(s.Cases, one)
	}
	return s.encode()
}

// junitOfComparison makes one case for whether the runs are valid and one for each deciding metric.
// A metric failed if B is worse. If that is unknown, it is skipped with the excluded margin.
func junitOfComparison(r *compare.Report) ([]byte, error) {
	valid := testCase{Class: "dbtester.compare", Name: "runs are valid"}
	if len(r.Invalid) > 0 {
		valid.Error = &testResult{strings.Join(r.Invalid, "; ")}
	}
	var marks []string
	for _, m := range r.Marks {
		marks = append(marks, m.String())
	}
	valid.Out = strings.Join(marks, "\n")
	s := testSuite{Name: "dbtester compare", Cases: []testCase{valid}}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Verdict == "" {
			continue // shown only
		}
		one := testCase{Class: "dbtester.compare", Name: f.Name}
		text := fmt.Sprintf("%s: B is %s: %s", f.Name, f.Verdict, excluded(f))
		switch {
		case len(r.Invalid) > 0:
			one.Skipped = &testResult{r.Sentence()}
		case f.Verdict == abtest.Worse:
			one.Failure = &testResult{text}
		case f.Verdict == abtest.Inconclusive:
			one.Skipped = &testResult{text}
		default:
			one.Out = text
		}
		s.Cases = append(s.Cases, one)
	}
	return s.encode()
}

// excluded states which changes a finding excludes.
func excluded(f *abtest.Finding) string {
	low, high := compare.Percent(f.Low), compare.Percent(f.High)
	if math.IsInf(f.Low, 0) || math.IsInf(f.High, 0) {
		return "too few runs to exclude any change"
	}
	return fmt.Sprintf("changes below %+.1f %% and above %+.1f %% are excluded", low, high)
}
