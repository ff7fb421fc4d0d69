package judge

import (
	"maps"
	"net"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Evidence is everything on which a verdict depends. It is only read.
type Evidence struct {
	Run *results.DatabaseRun
	// Steps are the steps of the load, in order.
	Steps []Step
	// Lost is why members are lost, by member; "" for the others.
	Lost []string
	// Disks hold the member data, by member; zero if unknown.
	Disks []results.Disk
	// Clients issued the load, each a part: control, or generators.
	Clients []Client
	// Drain is the time after the end in which requests that were due could still be sent.
	Drain time.Duration
	// Wrong counts the answers with a wrong value, including those outside the measured window.
	Wrong int64
	// Library is the client implementation if it is a library in which requests may queue unseen,
	// else "".
	Library string
	// TLS and Auth report whether clients encrypt, and whether they present credentials.
	TLS, Auth bool
	// Unmeasured reports whether the members run without agents.
	Unmeasured bool
	// Own are the marks that abilities have for the run.
	Own []results.Mark
}

// verdict is the evidence and the marks found so far.
type verdict struct {
	e     Evidence
	marks []results.Mark
}

func (v *verdict) mark(code string, invalid bool, values mark.Values, words mark.Words) {
	v.marks = append(v.marks, results.NewMark(code, invalid, values, words))
}

// member returns the member number in marks, from 1.
func member(index int) float64 { return float64(index + 1) }

// bounds returns the bounds in the file, or the default ones.
func (v *verdict) bounds() workload.Judge {
	if b := v.e.Run.Load.Judge; b != (workload.Judge{}) {
		return b
	}
	return workload.DefaultJudge()
}

// inOneLine shortens the reason for a lost member to one line. The events and the logs hold the
// rest.
func inOneLine(why string) string {
	lines := strings.Split(why, "\n")
	return strings.TrimSuffix(strings.Join(lines[:min(len(lines), 2)], ", "), "; its last lines:")
}

// lostAsExpected reports whether members are lost, and no more than the load expects.
func (v *verdict) lostAsExpected() bool {
	n := 0
	for _, why := range v.e.Lost {
		if why != "" {
			n++
		}
	}
	return 0 < n && n <= v.e.Run.Load.Expect.LostServers
}

// Client is the evidence on one process that issued a part of the load, and on its machine:
// control, whose part is the whole load, or one generator among several. Each is judged by itself.
type Client struct {
	// Name is the agent address of a generator; "" for control.
	Name string
	// Lost is why it did not issue its part to the end; "" if it did.
	Lost string
	// Pending counts its requests without an outcome.
	Pending int64
	Host    results.Host
	// Addrs are the known addresses of the machine.
	Addrs []net.IP
	// Samples are measurements on the machine, in control's clock. Unsampled reports that it could
	// not be measured.
	Samples   []results.Sample
	Unsampled bool
	// Clock compares its clock with control's; nil for control.
	Clock *results.Clock
	// ClockSet is the time by which its wall clock was set during the run.
	ClockSet time.Duration
	// StepClocks are its clocks in the steps of its part.
	StepClocks []StepClock
	Stops      *results.Stops
	// SelfCheck has the latency that the client adds; nil if not measured.
	SelfCheck *results.LoadCheck
	// Steps are its parts in the steps, with its own clients, counts and delay. Nil means that it
	// issued all steps in the evidence.
	Steps []Step
}

// StepClock is the clock of a generator in one step: the error of its offset at the start, and the
// time by which it certainly moved against control's clock until the end.
type StepClock struct {
	Index        int
	Error, Moved time.Duration
}

// stepsOf returns the steps of c.
func (v *verdict) stepsOf(c *Client) []Step {
	if c.Steps == nil {
		return v.e.Steps
	}
	return c.Steps
}

// each calls a function with each client.
func (v *verdict) each(do func(*Client)) {
	for i := range v.e.Clients {
		do(&v.e.Clients[i])
	}
}

// who adds the name of c to the words of a mark.
func (c *Client) who(words mark.Words) mark.Words {
	if c.Name == "" {
		return words
	}
	all := mark.Words{"generator": c.Name}
	maps.Copy(all, words)
	return all
}

// Step holds the evidence about one step. It counts the requests that were due in the measured
// window, or in a closed loop those sent in it.
type Step struct {
	// Index counts from 0.
	Index, Clients int
	// Rated reports whether requests had due times.
	Rated bool
	// Overloads reports whether the step exceeds the database throughput on purpose. The answered
	// part of its load is then a result.
	Overloads bool
	// Swept reports whether the step is one rate in a sweep.
	Swept bool
	// Held reports whether the step is the hold at a rate found by a search.
	Held bool

	OK, Failed, Unknown, Shed, Unsent int64
	// Queued found every client busy when they were due. Late were sent late although a client
	// was free.
	Queued, Late int64
	// Excused are the failures among Failed that are part of the workload: swaps that lost a race,
	// and reads for keys that the load deletes.
	Excused int64

	// Answered counts the requests that ended ok inside the window, whenever they were due.
	// Offered is the number that could be answered: those due in the window. Only steps with a rate
	// have both.
	Answered, Offered float64

	// Waits are the requests that were due and not sent when the window ended.
	Waits int64

	// Waiting is the time of clients without a server, out of all their time. ClientDelay is the
	// delay caused by the client itself, out of the response times. ClientOwn is the part recorded
	// request by request: the time by which requests were sent late, and that in which the client
	// was stopped. Nil means not recorded.
	Waiting, ClientDelay, ClientOwn *Part

	// Members are the member shares in the step, by member; nil if not known.
	Members []MemberShare
}

// Part is a time within another.
type Part struct{ Is, Of time.Duration }

// due counts the requests that were due in the window.
func (s Step) due() int64 { return s.OK + s.Failed + s.Unknown + s.Shed + s.Unsent }

// MemberShare is the part of one member in a step.
type MemberShare struct {
	// Clients is its share of the requests if all clients send equally many, from 0 to 1.
	Clients float64
	// Answered counts the requests that it answered, ok or failed.
	Answered int64
}
