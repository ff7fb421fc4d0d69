package run

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// Info identifies a run and holds its manifest.
type Info struct {
	Tag string // unique within a report
	// Label is the label of the run folder, set with --label, or "".
	Label string
	// Repeat counts earlier runs with the same tag.
	Repeat int
	// Limited means that the records have no place for numbers that the classic tool did not
	// record.
	Limited bool
	// Manifest is nil for classic files unless control left one next to them.
	Manifest *results.Manifest
	// Record is never nil. For a classic run it is derived from the experiment file.
	Record *results.DatabaseRun
}

// NoAgents is the reason why an unattended cluster lacks some numbers.
const NoAgents = "the cluster was already running, without agents"

// Unattended reports whether no agent ran the cluster.
func (i *Info) Unattended() bool {
	return len(i.Record.Members) > 0 && !slices.ContainsFunc(i.Record.Members, func(m results.Member) bool {
		return m.Agent != "" || m.Host != nil || m.Release != nil
	})
}

// Versions returns the versions that the members reported, in member order.
func (i *Info) Versions() (out []string) {
	for _, m := range i.Record.Members {
		if m.Version != "" {
			out = append(out, m.Version)
		}
	}
	return out
}

// Ran returns " (ran X)" if members reported a version that contradicts the label, or several
// versions. Otherwise it returns "".
func (i *Info) Ran() string {
	versions := Distinct(i.Versions())
	ran := versions
	if len(versions) == 1 && i.Record.LabelAgrees(versions[0]) {
		ran = nil
	}
	if len(ran) == 0 {
		return ""
	}
	return " (ran " + strings.Join(ran, ", ") + ")"
}

// Name is the tag plus the actual version if the tag is misleading. Legends and CSV headers use it.
func (i *Info) Name() string { return i.Tag + i.Ran() }

// BuiltIn is how manifests name a server that is part of dbtester.
const BuiltIn = "built-in"

// Releases returns how each member's binaries were obtained, in member order. If a database has
// several parts, each entry also names the release.
func (i *Info) Releases() (out []string) {
	for _, m := range i.Record.Members {
		switch {
		case m.Release != nil && !strings.Contains(i.Record.Built, m.Release.Version):
			out = append(out, strings.TrimSpace(m.Release.Kind+" "+m.Release.Version))
		case i.Record.Built != "" && !i.Unattended():
			out = append(out, i.Record.Built)
		}
	}
	return out
}

// SelfCheck returns the self-check of the client; nil without one or if it ran on another machine.
func (i *Info) SelfCheck() *results.SelfCheck {
	if i.Manifest == nil || i.Manifest.SelfCheck == nil || i.Manifest.SelfCheck.Elsewhere(i.Manifest.Client) != "" {
		return nil
	}
	return i.Manifest.SelfCheck
}

// SteppedRates reports whether the steps had different rates.
func (i *Info) SteppedRates() bool {
	return slices.ContainsFunc(i.Record.Steps, func(s results.Step) bool { return rateOf(s) != rateOf(i.Record.Steps[0]) })
}

// rateOf returns the rate at the start and end of a step, in requests per second.
func rateOf(s results.Step) [2]float64 { return [2]float64{s.Rate, s.RateEnd} }

// highestRate returns the most requests due in one second; 0 in a closed loop.
func (i *Info) highestRate() float64 {
	if len(i.Record.Steps) == 0 {
		return max(i.Record.Load.Rate, i.Record.Load.RateEnd)
	}
	most := 0.0
	for _, s := range i.Record.Steps {
		most = max(most, s.Rate, s.RateEnd)
	}
	return most
}

// incompleteMark marks an incomplete run, which was not judged when it ended. It returns nil for a
// complete run.
func (i *Info) incompleteMark() *results.Mark {
	var words mark.Words
	switch i.Record.State {
	case results.StateComplete, "":
		return nil
	case results.StateFailed:
		words = mark.Words{"why": strings.ReplaceAll(i.Record.Error, "\n", "; ")}
	case results.StateRunning:
	default:
		words = mark.Words{"state": string(i.Record.State)}
	}
	m := results.NewMark(mark.Incomplete, true, nil, words)
	return &m
}
