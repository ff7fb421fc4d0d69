package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/coreos/dbtester/tools/audit/standin"
)

// Case is one scripted situation whose true outcome is known.
type Case struct {
	Name string
	// Found describes the wrong report made by earlier versions.
	Found string
	// Together means that the case may run concurrently with others, because it checks no times.
	Together bool
	// Full means that the case runs at full scale only.
	Full bool
	// Runs are made one after the other on one cluster. Nearly every case has one.
	Runs func(Scale) []Plan
	// Server returns the options for the cluster.
	Server func(Scale) standin.Options
	// Check compares the runs with the cluster log.
	Check func(*Findings, []*Run)
}

// Plan describes one dbtester run.
type Plan struct {
	// Load is the load in the experiment file, written like the inside of a YAML flow mapping.
	Load string
	// File holds further keys for the experiment file, one per line.
	File string
	// Script replaces the cluster script before this run.
	Script func(standin.Request) standin.Action
	// During runs alongside the load, from its first request on.
	During func(context.Context, *Live) error
	// Exit is the exit code expected from control, or exitAny.
	Exit int
	// Altered means that the servers answered reads wrongly, so an answered request may be a failed
	// one.
	Altered bool
}

// Scale determines how long runs take.
type Scale struct{ Full bool }

// Pick returns the length for the scale.
func (s Scale) Pick(small, full time.Duration) time.Duration {
	if s.Full {
		return full
	}
	return small
}

// PickN returns the number for the scale.
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

// Findings collects the checks in a case.
type Findings struct{ Checks []Check }

func (f *Findings) add(ok bool, what, truth, got, tolerance string) {
	f.Checks = append(f.Checks, Check{What: what, Truth: truth, Got: got, Tolerance: tolerance, OK: ok})
}

// Near requires got to be within a share of truth.
func (f *Findings) Near(what string, truth, got, share float64) {
	f.add(!math.IsNaN(got) && math.Abs(got-truth) <= share*math.Abs(truth), what, number(truth), number(got), fmt.Sprintf("%g %%", 100*share))
}

// Within requires low <= got <= high.
func (f *Findings) Within(what string, low, got, high float64) {
	f.add(low <= got && got <= high, what, number(low)+" to "+number(high), number(got), "none")
}

// Equal requires two equal counts.
func (f *Findings) Equal(what string, truth, got float64) {
	f.add(truth == got, what, number(truth), number(got), "none")
}

// Holds requires a condition; got describes the report.
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

var nan = math.NaN()

// Run holds the exit code, output and records of dbtester, and the server log.
type Run struct {
	Plan    Plan
	Exit    int
	Output  string
	Log     Log
	Keys    int // in the cluster after the run
	Slammed int64
	Record  *Record
	Report  *Report
	Program string
}

// Live is a run that has not ended.
type Live struct {
	Cluster *standin.Cluster
	Process *os.Process // control
}

// Log has an entry for each request the servers saw in one run, in the order in which they arrived.
type Log []standin.Entry
