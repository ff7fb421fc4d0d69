package faults

import (
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/results/recovery"
)

// Probe records a request to one member: a row in probes.csv.
type Probe struct {
	// Member counts from 1.
	Member int
	// SentNS is when it was sent, in nanoseconds since the Unix epoch, and TookNS its response
	// time.
	SentNS, TookNS int64
	// Class is its error class: "" for an answered probe, and [NotSent] for one that found all
	// connections waiting.
	Class string
}

// NotSent is the class for a probe that was due while as many probes were pending as may be.
const NotSent = "not sent"

// OK reports whether the probe was answered.
func (p Probe) OK() bool { return p.Class == "" }

// probeColumns declares the probe file. A row must name one of this many members.
func probeColumns(members int) []linefile.Column[Probe] {
	return []linefile.Column[Probe]{
		linefile.IntColumn("member", func(p *Probe) *int { return &p.Member }).Checked(func(p *Probe) error { return declared.CheckMember(p.Member, 1, members) }),
		linefile.IntColumn("sent_unix_ns", func(p *Probe) *int64 { return &p.SentNS }),
		linefile.IntColumn("took_ns", func(p *Probe) *int64 { return &p.TookNS }),
		linefile.TextColumn("error", func(p *Probe) *string { return &p.Class }),
	}
}

// NewProbeWriter opens or creates the probe file.
func NewProbeWriter(path string) (linefile.TableWriter[Probe], error) {
	return linefile.NewTableWriter(path, probeColumns(0))
}

// ReadProbes reads the probe file from a run with this many members. A row for another member is an
// error.
func ReadProbes(path string, members int) ([]Probe, error) {
	return linefile.ReadTable(path, probeColumns(members), linefile.ZeroRows[Probe])
}

// Silence is the longest time in which one member, or all members together, answered no probe.
type Silence struct {
	// Member counts from 1; 0 is all members together.
	Member  int           `json:"member"`
	Longest time.Duration `json:"longest_ns"`
	Probes  int           `json:"probes"`
	OK      int           `json:"ok"`
}

// Silences returns the longest time without an answered probe between two times, first for all
// members together and then by member. A silence that began before from or ends after until
// counts from the answer before it to the answer after it.
func Silences(probes []Probe, members int, from, until time.Time) []Silence {
	list := make([]Silence, members+1)
	ends := make([][]int64, members+1)
	for _, p := range probes {
		if p.Member < 1 || p.Member > members {
			continue
		}
		inside := p.SentNS >= from.UnixNano() && p.SentNS < until.UnixNano()
		for _, m := range []int{0, p.Member} {
			if inside {
				list[m].Probes++
			}
			if p.OK() {
				ends[m] = append(ends[m], p.SentNS+p.TookNS)
				if inside {
					list[m].OK++
				}
			}
		}
	}
	for m := range list {
		list[m].Member = m
		list[m].Longest = longest(ends[m], from.UnixNano(), until.UnixNano())
	}
	return list
}

// Back returns the time from over, when a fault ended, until a probe to a member was answered that
// was sent after over and answered before until; [recovery.Never] if there is no such probe.
func Back(probes []Probe, member int, over, until time.Time) time.Duration {
	back := time.Duration(recovery.Never)
	for _, p := range probes {
		if p.Member != member || !p.OK() || p.SentNS < over.UnixNano() || p.SentNS+p.TookNS > until.UnixNano() {
			continue
		}
		if took := time.Duration(p.SentNS + p.TookNS - over.UnixNano()); back == recovery.Never || took < back {
			back = took
		}
	}
	return back
}

// longest returns the longest time between two answers that touches [from, until).
func longest(ends []int64, from, until int64) (most time.Duration) {
	slices.Sort(ends)
	last := from
	for _, at := range ends {
		if at > from {
			most = max(most, time.Duration(at-last))
		}
		if last = at; at >= until {
			return most
		}
	}
	return max(most, time.Duration(until-last))
}
