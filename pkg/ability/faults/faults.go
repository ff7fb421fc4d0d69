// Package faults declares faults of members during a load: what is done to whom and when, and
// what a run records of it.
package faults

import (
	"strings"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/recovery"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// The kinds of event that a fault was applied, that it is over, and what its member's agent
// saw of it.
const (
	EventFault    = "fault"
	EventOver     = "fault over"
	EventReadBack = "fault read back"
)

// The members that are named by what they do.
const (
	Leader   = "leader"
	Follower = "follower"
	Each     = "each"
)

// The groups of members that have a fault at the same time: all, as many with the leader as
// are no majority, and as many without it.
const (
	All       = "all"
	Minority  = "minority"
	Followers = "followers"
)

// Ability is the declaration.
func Ability() ability.Ability {
	return ability.Ability{
		Name: "faults", More: []ability.Keys{Repeated(), Keys()}, Keys: Probed(), Record: Record(), Member: Upgraded(),
		Start: func(v ability.Values, req *dbtesterpb.StartRequest) error {
			for _, f := range Keys().Of(v) {
				if f.Kind != Command {
					req.Faults = append(req.Faults, f.Message())
				}
			}
			return nil
		},
	}
}

// Fault is one fault of a load.
type Fault struct {
	// Kind is that of package fault. Member is [Leader], [Follower], [Each] or a number from
	// 1.
	Kind   string `json:"kind"`
	Member string `json:"member"`
	// Fsync is what becomes of the calls of a disk.
	Fsync string `json:"fsync,omitempty"`
	// Full is whether the member's own disk has no space left.
	Full bool `json:"full,omitempty"`
	// From and Direction name the packets that are meant, Loss the share of them that is dropped,
	// By by how much each is later, and Rate the bandwidth of all together.
	From      string `json:"from,omitempty"`
	Direction string `json:"direction,omitempty"`
	Loss      string `json:"loss,omitempty"`
	By        string `json:"by,omitempty"`
	Rate      string `json:"rate,omitempty"`
	// Version is the release that a restart starts, "" for the one before.
	Version string `json:"version,omitempty"`
	// Run is the program of a [Command] with its arguments, and Undo what undoes it, [NoUndo]
	// for none.
	Run  []string `json:"run,omitempty"`
	Undo []string `json:"undo,omitempty"`
	// At is when it is applied, after the first request of the load, and For how long it
	// lasts. Gap is the time between the end of a member's fault and the next member's.
	At  time.Duration `json:"at_ns"`
	For time.Duration `json:"for_ns,omitempty"`
	Gap time.Duration `json:"gap_ns,omitempty"`
	// Overlap lets it overlap with others.
	Overlap bool `json:"overlap,omitempty"`
	// Beside are the members that have it at the same time, see [fault.Parameters].
	Beside string `json:"-"`
	// Place is where the file asks for it.
	Place string `json:"-"`
}

// Parameters are those of its kind.
func (f Fault) Parameters() fault.Parameters {
	return fault.Parameters{Fsync: f.Fsync, Version: f.Version, Full: f.Full, From: f.From, Direction: f.Direction, Loss: f.Loss, By: f.By, Rate: f.Rate, Beside: f.Beside}
}

// Detail is what the file says of it besides its kind, its members and its times; fsync aside.
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

// Lasts is how long it is planned to last in a cluster of some members, with those that have it
// one after the other.
func (f Fault) Lasts(members int) time.Duration {
	if f.Member != Each {
		return f.For
	}
	n := time.Duration(max(members, 1))
	return n*f.For + (n-1)*f.Gap
}

// Message is the fault as agents are asked for it.
func (f Fault) Message() *dbtesterpb.FaultKind {
	return &dbtesterpb.FaultKind{Kind: f.Kind, Parameters: f.Parameters().Encoded(), Place: f.Place}
}

// Repeat is how often all faults are applied.
type Repeat struct {
	Times int `json:"times,omitempty"`
	// Every is the time between the beginnings of two repeats. Each is put off by a time up
	// to Jitter that the seed decides.
	Every  time.Duration `json:"every_ns,omitempty"`
	Jitter time.Duration `json:"jitter_ns,omitempty"`
	// Until is [Recovered] if a repeat, and each fault in it that does not overlap with one
	// before, begins no sooner than the load has recovered, else "". Every is the least time then.
	Until string `json:"until,omitempty"`
}

// Recovered is what repeats and their faults can wait for.
const Recovered = "recovered"

// Asked is a fault of a run as the file asks for it.
type Asked struct {
	// Number is the number of the fault in the file, Repeat that of its repeat, and Turn that
	// of its member among those that have it one after the other; all count from 0.
	Number int    `json:"number"`
	Repeat int    `json:"repeat"`
	Turn   int    `json:"turn,omitempty"`
	Kind   string `json:"kind"`
	Target string `json:"target"`
	Fsync  string `json:"fsync,omitempty"`
	// Detail is what else the file says of it, see [Fault.Detail].
	Detail string `json:"detail,omitempty"`
	// Version is the release that the member was to be started with, "" for the one before.
	Version string `json:"version,omitempty"`
	// Run is the program of a command with its arguments.
	Run []string      `json:"run,omitempty"`
	For time.Duration `json:"for_ns"`
}

// Happened is one fault of a run.
type Happened struct {
	Asked
	// Member counts from 0, and is -1 of a command, and if none could be found.
	Member int `json:"member"`
	// Members are all that had it at the same time, Member first; nil if it was one.
	Members []int `json:"members,omitempty"`
	// From is when it was asked for, To when it was over, by control's clock.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Saw is what the agent read back once it was applied, and SawOver once it was undone.
	Saw     string `json:"saw,omitempty"`
	SawOver string `json:"saw_over,omitempty"`
	// Failed is why it did not take hold or could not be undone.
	Failed string `json:"failed,omitempty"`
	// Silences are the longest times without an answered probe until the load had recovered,
	// of all members and of each; none without probes.
	Silences []Silence `json:"silences,omitempty"`
	// Back is the time from its end until a probe of its member was answered that was sent
	// after it; [recovery.Never] if none was within five seconds of the recovery of the
	// load, 0 without probes.
	Back time.Duration `json:"back_ns,omitempty"`
	// Leaders is how often another member was found to lead until the load had recovered.
	Leaders int `json:"leader_changes"`
	// Errors counts the requests that did not end ok in the seconds until the load had
	// recovered, by class.
	Errors map[string]int64 `json:"errors,omitempty"`
	// P99 is of the requests that ended ok in the seconds until the load had recovered, and
	// RestP99 of those in seconds that no fault touched; 0 if there were none.
	P99     time.Duration `json:"p99_ns,omitempty"`
	RestP99 time.Duration `json:"rest_p99_ns,omitempty"`
	// Recovery is what it did to the load; nil if the load has no records of that time.
	Recovery *recovery.Recovery `json:"recovery,omitempty"`
}

// Cut is the time between the fault and its recovery.
func (h Happened) Cut() results.Stretch {
	until := h.To
	if h.Recovery != nil {
		until = h.Recovery.Until
	}
	return results.Stretch{From: h.From, Length: max(until.Sub(h.From), 0)}
}

// Record is the faults of a run in the order in which they began.
func Record() ability.Record[[]Happened] { return ability.Record[[]Happened]{Key: "faults"} }

// Probed is the key of the time between two probes of a member.
func Probed() ability.Single[time.Duration] {
	return ability.Single[time.Duration]{
		About: yamlfile.Row{Name: "probe", Usually: "20ms with `faults`", Meaning: "time between two probes of each member during a load with `faults`: a write over connections of their own, sent whatever is pending, at most 50 in flight. `0s` sends none"},
		Kind:  yamlfile.ShortDurationKind(),
		Resolved: func(r *yamlfile.Reader, is time.Duration, at *yamlfile.Node, _ *ability.Database, v ability.Values) time.Duration {
			switch {
			case len(Keys().Of(v)) == 0:
				return 0
			case at == nil:
				return defaultProbe
			case is > 0 && is < shortestProbe:
				r.Errorf(at, "probe must be at least %v, or 0s for none, got %v", shortestProbe, is)
			}
			return is
		},
		Shown: func(is time.Duration) bool { return is != 0 },
	}
}

const (
	defaultProbe  = 20 * time.Millisecond
	shortestProbe = time.Millisecond
)

// Repeated is the key of the repeats.
func Repeated() ability.Section[Repeat] {
	return ability.Section[Repeat]{
		Key: "repeat", Meaning: "how often `faults` are applied: the [keys of repeat](#keys-of-repeat)",
		Fields: repeatSection, Resolved: resolveRepeat, Shown: showRepeat,
	}
}

// Keys is the key of the faults.
func Keys() ability.List[Fault] {
	return ability.List[Fault]{
		Key: "faults", Meaning: "faults of members during the load, which their agents must allow: the [keys of faults](#keys-of-faults)",
		Item: section, Resolved: resolve,
	}
}
