package load

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Spec is a load and the numbers it starts from. The engine takes clients,
// requests, durations, rates and ramps from steps, not from here.
type Spec struct {
	workload.Load
	// Seed makes the values, and the arrivals in a Poisson schedule.
	Seed uint64
	// FirstKey is the number of the first key created; less than Keys means Keys.
	FirstKey int64
	// Part, if not the zero value, is the share of one machine, among several that issue the load
	// together: the requests and the clients whose number modulo Part.Of is Part.Index. All else in
	// Load and in the steps describes the whole. See [Spec.CheckPart] and [Engine.Continue].
	Part schedule.Part
}

// CheckPart returns why a load cannot be issued in parts, nil if it can. A part knows only the
// outcomes of its own requests.
func (s Spec) CheckPart() error {
	if err := s.Part.Check(); err != nil {
		return err
	}
	return s.CheckParts(s.Part.Of)
}

// checkClients returns why connections cannot apply load operations in a step, nil if they can.
func (s Spec) checkClients(step Step, conns []database.Client) error {
	ops := s.Operations()
	if step.Dial == nil && slices.Contains(ops, workload.OpReadOneshot) {
		return fmt.Errorf("%s opens connections, so a step must have Dial, got none", workload.OpReadOneshot)
	}
	for n, c := range conns {
		if c == nil {
			return fmt.Errorf("connection %d must be open, got none", n+1)
		}
		able := database.OperationsOf(c)
		for _, op := range ops {
			if op.Known() && !op.Locks() && !slices.Contains(able, op) {
				return fmt.Errorf("connection %d must be able to %s, got a client without that ability: %T", n+1, op, c)
			}
		}
	}
	return nil
}

// sequence returns the request sequence in a step.
func (s Spec) sequence(clients int) (*requests.Sequence, error) {
	return requests.New(s.Load, s.Seed, s.FirstKey, clients)
}

// Step is one stretch of a load. The engine is given its connections; Connections is not used.
type Step struct {
	Index int
	workload.Step
	// Dial opens a connection for one request; read-oneshot needs it.
	Dial func(ctx context.Context) (database.Client, error)
	// Reconnect replaces connections that are lost.
	Reconnect *Reconnect
	// Start, if not zero, is when the step begins, by the recorder clock. A step not ready by then
	// fails. With the zero value a step starts as soon as it is ready.
	Start time.Time
}

// StepResult is the outcome of a step, without its records.
type StepResult struct {
	// Start is before the first request, End after the last answer. A step that ended
	// before its start ends when it starts.
	Start, End time.Time
	// FirstSent is when the first request was sent; the zero time if no request was.
	FirstSent time.Time
	// IssueEnd is when issuing ended, from Start to End; it ends the population.
	IssueEnd time.Time
	// Inside is client time inside calls, all outcomes, clipped to [Start, IssueEnd), without the
	// time by which process stops delayed them.
	Inside time.Duration
	// ClientDelay is the part of ok requests' times in the measured phase that clients caused: by
	// sending them late, and by process stops that delayed their calls.
	ClientDelay time.Duration
	// Waiting is the time of clients without a server, clipped to the measured window. Lost counts
	// lost connections, Reconnects connections opened in their place.
	Waiting          time.Duration
	Lost, Reconnects int64
	// ObserverWaits are client waits for an [Observer] that was behind, before they took a request.
	ObserverWaits Waits
	// Resent counts requests resent by clients themselves, over all connections; see
	// [database.Resender].
	Resent int64
	// VersionReads counts version reads that transactions in the step needed after a conflict or a
	// lost answer had made versions unknown. They are not part of the load's requests.
	VersionReads int64
	// LargestGap is the longest time without an ok answer in the measured window; nil
	// if the step ended before its window began.
	LargestGap *results.Gap
	// Requests counts the request numbers that the step used up: the next step's keys continue
	// after them. It includes numbers in other parts up to this part's last one, so the count for
	// the step is the greatest among the parts. It equals the count in a load in one part if the
	// step has a rate and was not interrupted; it differs if a closed loop ends by its duration.
	Requests int64
}

// clients returns the number of clients that this part has in a step.
func (s Spec) clients(step Step) int { return int(s.Part.Count(int64(step.Clients))) }
