// Package faults declares faults that members have during a load, and their records.
package faults

import (
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/recovery"
)

// The kinds of event: a fault was applied, it is over, its agent saw its effect, and the
// connections that had failed over went back to their first members.
const (
	EventFault    = "fault"
	EventOver     = "fault over"
	EventReadBack = "fault read back"
	EventFailBack = "clients failed back"
)

// Member names by role.
const (
	Leader   = "leader"
	Follower = "follower"
	Each     = "each"
)

// The groups whose members have a fault at the same time: all, the largest minority with the
// leader, and the largest minority without it.
const (
	All       = "all"
	Minority  = "minority"
	Followers = "followers"
)

// Fault describes a fault in one or more members, and when it is due in a load.
type Fault struct {
	// Kind is one of the kinds in package fault or [Command]. Member is [Leader], [Follower],
	// [Each] or a number from 1.
	Kind   string `json:"kind"`
	Member string `json:"member"`
	// Fsync is the effect on calls that put writes on disk.
	Fsync string `json:"fsync,omitempty"`
	// Full reports whether the member's own disk has no space left.
	Full bool `json:"full,omitempty"`
	// From and Direction select packets. Loss is the share that is dropped, By the delay of each
	// packet, and Rate the bandwidth for all together.
	From      string `json:"from,omitempty"`
	Direction string `json:"direction,omitempty"`
	Loss      string `json:"loss,omitempty"`
	By        string `json:"by,omitempty"`
	Rate      string `json:"rate,omitempty"`
	// Version is the release that a restart starts, "" for the previous one.
	Version string `json:"version,omitempty"`
	// Run is a [Command]'s program with its arguments, and Undo its undo, which may be [NoUndo].
	Run  []string `json:"run,omitempty"`
	Undo []string `json:"undo,omitempty"`
	// At is when the fault is applied, counted from the first request, and For its duration. Gap is
	// the time from when the fault on one member ends until that on the next begins.
	At  time.Duration `json:"at_ns"`
	For time.Duration `json:"for_ns,omitempty"`
	Gap time.Duration `json:"gap_ns,omitempty"`
	// Overlap lets it overlap with others.
	Overlap bool `json:"overlap,omitempty"`
	// Beside are the members that have the fault at the same time, see [fault.Parameters].
	Beside string `json:"-"`
	// Place is the fault's place in the file.
	Place string `json:"-"`
}

// Parameters returns the parameters for its kind.
func (f Fault) Parameters() fault.Parameters {
	return fault.Parameters{Fsync: f.Fsync, Version: f.Version, Full: f.Full, From: f.From, Direction: f.Direction, Loss: f.Loss, By: f.By, Rate: f.Rate, Beside: f.Beside}
}

// Detail describes the fault without its kind, members, times and fsync.
func (f Fault) Detail() string {
	var list []string
	if f.Full {
		list = append(list, "full")
	}
	for _, said := range []struct{ key, is string }{{"from", f.From}, {"direction", f.Direction}, {"loss", f.Loss}, {"by", f.By}, {"rate", f.Rate}} {
		if said.is != "" {
			list = append(list, said.key+" "+said.is)
		}
	}
	return strings.Join(list, ", ")
}

// Lasts returns the planned duration in a cluster with this many members, including all members
// that have it one after the other.
func (f Fault) Lasts(members int) time.Duration {
	if f.Member != Each {
		return f.For
	}
	n := time.Duration(max(members, 1))
	return n*f.For + (n-1)*f.Gap
}

// reaches reports whether a member, from 0, may have the fault: the one with its number, or any if it
// names no number.
func (f Fault) reaches(member int) bool {
	n, err := strconv.Atoi(f.Member)
	return err != nil || n == member+1
}

// Message returns the fault as in requests to agents.
func (f Fault) Message() *dbtesterpb.FaultKind {
	return &dbtesterpb.FaultKind{Kind: f.Kind, Parameters: f.Parameters().Encoded(), Place: f.Place}
}

// Repeat describes how often all faults are applied.
type Repeat struct {
	Times int `json:"times,omitempty"`
	// Every is the time from when one repeat starts to the next. The seed delays each by up to
	// Jitter.
	Every  time.Duration `json:"every_ns,omitempty"`
	Jitter time.Duration `json:"jitter_ns,omitempty"`
	// Until is [Recovered] if a repeat begins no sooner than the load has recovered, as does each
	// fault in it that does not overlap with an earlier one; else "". Every is then the least
	// time.
	Until string `json:"until,omitempty"`
}

// Recovered is the condition that repeats and their faults can wait for.
const Recovered = "recovered"

// Asked is a fault in a run as the file describes it.
type Asked struct {
	// Number, Repeat and Turn number the fault in the file, its repeat, and its member among those
	// that have it one after the other. All count from 0.
	Number int    `json:"number"`
	Repeat int    `json:"repeat"`
	Turn   int    `json:"turn,omitempty"`
	Kind   string `json:"kind"`
	Target string `json:"target"`
	Fsync  string `json:"fsync,omitempty"`
	// Detail describes the rest of the fault, see [Fault.Detail].
	Detail string `json:"detail,omitempty"`
	// Version is the release with which the member was to be started, "" for the previous one.
	Version string `json:"version,omitempty"`
	// Run is a command's program with its arguments.
	Run []string      `json:"run,omitempty"`
	For time.Duration `json:"for_ns"`
}

// Happened is one fault in a run.
type Happened struct {
	Asked
	// Member counts from 0. It is -1 for a command, and if no member was found.
	Member int `json:"member"`
	// Members are all members that had the fault at the same time, Member first; nil if only one
	// had it.
	Members []int `json:"members,omitempty"`
	// From is when the fault was requested, To when it was over, both by control's clock.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Saw is the effect that the agent read back after applying the fault, and SawOver after
	// undoing it.
	Saw     string `json:"saw,omitempty"`
	SawOver string `json:"saw_over,omitempty"`
	// Failed is why the fault did not take effect or could not be undone.
	Failed string `json:"failed,omitempty"`
	// Silences are the longest times without an answered probe until the load had recovered, for
	// all members together and for each; empty without probes.
	Silences []Silence `json:"silences,omitempty"`
	// Back is the time from when the fault ended until a later probe of its member was answered. It
	// is [recovery.Never] if no probe was answered within five seconds after the load recovered,
	// and 0 without probes.
	Back time.Duration `json:"back_ns,omitempty"`
	// Leaders is the number of times that the leader changed until the load had recovered.
	Leaders int `json:"leader_changes"`
	// Errors counts, by class, the requests that did not end ok in the seconds until the load had
	// recovered.
	Errors map[string]int64 `json:"errors,omitempty"`
	// P99 covers requests that ended ok in the seconds until the load had recovered, RestP99 those
	// in seconds that no fault touched. 0 means no such request.
	P99     time.Duration `json:"p99_ns,omitempty"`
	RestP99 time.Duration `json:"rest_p99_ns,omitempty"`
	// Returned counts the connections that had failed over and went back to their first members
	// after the fault, so that the next fault meets a load spread over all members; nil if they
	// were not asked to. Away counts those that did not.
	Returned *int `json:"returned,omitempty"`
	Away     int  `json:"away,omitempty"`
	// Recovery is the effect on the load; nil if the load has no records from that time.
	Recovery *recovery.Recovery `json:"recovery,omitempty"`
}

// Cut returns the time from the fault to its recovery.
func (h Happened) Cut() results.Stretch {
	until := h.To
	if h.Recovery != nil {
		until = h.Recovery.Until
	}
	return results.Stretch{From: h.From, Length: max(until.Sub(h.From), 0)}
}

// Cut returns the times between each fault and its recovery.
func Cut(list []Happened) (all []results.Stretch) {
	for _, h := range list {
		all = append(all, h.Cut())
	}
	return all
}
