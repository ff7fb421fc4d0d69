package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// event is an event that go test -json prints, as go doc test2json and go help buildjson describe
// it.
type event struct {
	Action     string
	Package    string
	ImportPath string // in place of Package, in build events
	Test       string
	Output     string
	Elapsed    float64 // seconds, in events that end something
}

// line is one line in the output of a package. test is empty outside tests.
type line struct{ test, text string }

// shower prints events as go test prints its output without -v, and writes to other writers which
// tests were skipped and how long packages took.
type shower struct {
	out, skipped, times io.Writer
	cpu                 func(of string) float64 // CPU seconds of a package
	lines               map[string][]line       // by package, or by import path in builds
	last                map[[2]string]string    // action of tests, by package and name
}

// show prints the events from go test -json: for a passing package its last line, and for a failing
// one all lines except those from tests that passed, and after a crash the tests that were running.
// It writes the skipped tests to skipped, each with its reason, and the time and CPU time each
// package took to times.
func show(events io.Reader, out, skipped, times io.Writer, cpu func(of string) float64) error {
	s := &shower{out: out, skipped: skipped, times: times, cpu: cpu, lines: map[string][]line{}, last: map[[2]string]string{}}
	in := bufio.NewReader(events)
	for {
		text, err := in.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(text), &e) == nil {
			s.take(e)
		} else {
			fmt.Fprint(out, text) // such as a message from the go command
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *shower) take(e event) {
	of := cmp.Or(e.Package, e.ImportPath)
	switch {
	case e.Action == "output" || e.Action == "build-output":
		s.lines[of] = append(s.lines[of], line{e.Test, e.Output})
	case e.Test != "":
		s.last[[2]string{of, e.Test}] = e.Action
		if e.Action == "skip" {
			fmt.Fprintf(s.skipped, "%s %s: %s\n", of, e.Test, reason(s.lines[of], e.Test))
		}
	case e.Action == "pass" || e.Action == "skip":
		s.passed(of)
		s.took(e)
	case e.Action == "fail" || e.Action == "build-fail":
		s.failed(of)
		s.took(e)
	}
}

// took keeps the time of a package. One whose results were cached took no time.
func (s *shower) took(e event) {
	if e.Package != "" && e.Elapsed > 0 {
		fmt.Fprintf(s.times, "%.1f\t%s\t%.1f\n", e.Elapsed, e.Package, s.cpu(e.Package))
	}
}

// passed prints the line that go test has for a package without failures, such as
// "ok  \tname\t0.1s".
func (s *shower) passed(of string) {
	if lines := s.lines[of]; len(lines) > 0 {
		fmt.Fprint(s.out, lines[len(lines)-1].text)
	}
	delete(s.lines, of)
}

func (s *shower) failed(of string) {
	crashed := false
	for _, l := range s.lines[of] {
		// The stacks after it are ascribed to a test that may have passed before.
		crashed = crashed || crash.MatchString(l.text)
		begins := strings.HasPrefix(l.text, "=== ") // RUN, PAUSE, CONT, NAME
		last := s.last[[2]string{of, l.test}]
		if crashed || l.test == "" || !begins && last != "pass" && last != "skip" {
			fmt.Fprint(s.out, l.text)
		}
	}
	delete(s.lines, of)
	var running []string
	for test, last := range s.last {
		if test[0] == of && (last == "run" || last == "cont") {
			running = append(running, test[1])
		}
	}
	if slices.Sort(running); len(running) > 0 {
		fmt.Fprintf(s.out, "%s ended while tests were running: %s\n", of, strings.Join(running, ", "))
	}
}

// crash matches the line with which the runtime of Go begins its last output.
var crash = regexp.MustCompile(`^(panic|fatal error|unexpected fault|SIG[A-Z]+): `)

// reason joins the log from a skipped test, without the places in the source.
func reason(lines []line, test string) string {
	var parts []string
	for _, l := range lines {
		text := strings.TrimSpace(l.text)
		if l.test != test || strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- ") {
			continue
		}
		if _, after, found := strings.Cut(text, ".go:"); found {
			if _, message, found := strings.Cut(after, ": "); found {
				text = message
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}
