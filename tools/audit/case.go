package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/coreos/dbtester/tools/audit/standin"
)

// Case is one scripted situation with a known truth.
type Case struct {
	Name string
	// Found describes the wrong report of earlier versions.
	Found string
	// Together cases may run at the same time as others: no check is of times.
	Together bool
	// Full cases run at full scale only.
	Full bool
	// Runs are made in turn on one cluster. Nearly every case has one.
	Runs func(Scale) []Plan
	// Server is the cluster of the case.
	Server func(Scale) standin.Options
	// Check compares the runs with the cluster's log.
	Check func(*Findings, []*Run)
}

// Plan is one run of dbtester.
type Plan struct {
	// Load is the file's load: a YAML flow mapping's inside.
	Load string
	// File holds further keys of the file, each a line.
	File string
	// Script replaces the cluster's script before this run.
	Script func(standin.Request) standin.Action
	// During runs while the load does, from its first request on.
	During func(context.Context, *Live) error
	// Exit is the exit code that control must end with, or exitAny.
	Exit int
	// Altered is set where the servers answered reads wrongly: an answered request
	// may be a failed one.
	Altered bool
}

// Scale is how long runs take.
type Scale struct{ Full bool }

// Pick returns one of two lengths.
func (s Scale) Pick(small, full time.Duration) time.Duration {
	if s.Full {
		return full
	}
	return small
}

// PickN returns one of two numbers.
func (s Scale) PickN(small, full int) int {
	if s.Full {
		return full
	}
	return small
}

// Check is one comparison.
type Check struct {
	What, Truth, Got, Tolerance string
	OK                          bool
}

// Findings collects the checks of one case.
type Findings struct{ Checks []Check }

func (f *Findings) add(ok bool, what, truth, got, tolerance string) {
	f.Checks = append(f.Checks, Check{What: what, Truth: truth, Got: got, Tolerance: tolerance, OK: ok})
}

// Near wants got within a share of truth.
func (f *Findings) Near(what string, truth, got, share float64) {
	f.add(!math.IsNaN(got) && math.Abs(got-truth) <= share*math.Abs(truth), what, number(truth), number(got), fmt.Sprintf("%g %%", 100*share))
}

// Within wants low <= got <= high.
func (f *Findings) Within(what string, low, got, high float64) {
	f.add(low <= got && got <= high, what, number(low)+" to "+number(high), number(got), "none")
}

// Equal wants two counts to be the same.
func (f *Findings) Equal(what string, truth, got float64) {
	f.add(truth == got, what, number(truth), number(got), "none")
}

// Holds wants a condition; got describes the report.
func (f *Findings) Holds(what string, ok bool, truth, got string) {
	f.add(ok, what, truth, got, "none")
}

func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "not recorded"
	case math.IsInf(v, 1):
		return "no bound"
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.4g", v)
	}
}
