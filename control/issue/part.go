package issue

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/dbtester/control/fleet/remote"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/merge"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// part joins the issuer of one part with its record.
type part struct {
	issuer partIssuer
	index  int

	// The fields up to mu belong to the goroutine that follows the step, and between two steps to
	// the caller of the set. clients is the client count in the connected step.
	clients int
	record  results.Generator
	// ended is how the last step ended. before holds the counts from the steps that Restart left
	// out.
	ended  issuer.End
	before results.Totals
	sent   bool // records from the current step came
	// sessions are the sessions that its requests took, nil without any; known after close.
	sessions *results.LoadSessions

	mu     sync.Mutex              // guards the fields below
	lost   error                   // nil if it is not
	cancel context.CancelCauseFunc // ends the call for its preload or step; nil between calls
}

// partIssuer issues one part: this process, or a generator. One goroutine at a time calls its
// methods.
type partIssuer interface {
	// preload writes this share of the keys.
	preload(ctx context.Context, p Preload, progress func(load.Progress)) error
	// connect opens connections to some members, and returns the number of clients in the step that
	// belong to this part. keep leaves the connections open for the next step. If a member refuses
	// its connection, connect returns that refusal and leaves no connection open.
	connect(ctx context.Context, step load.Step, keep bool, members []int) (clients int, refused *refusal, err error)
	// run runs the connected step and puts its records into out. Without an end, the error is why
	// the part is lost.
	run(ctx context.Context, r running, out *intake) (*issuer.End, error)
	// failBack has connections of the running step that failed over go back to their first members.
	failBack(ctx context.Context) (load.FailedBack, error)
	// close ends this part, and returns counts for the sessions taken by its requests, or nil
	// without any.
	close(ctx context.Context) (*results.LoadSessions, error)
}

// refusal is a refused connection to a member.
type refusal struct {
	*connect.RefusedError
	// lost reports that the member refuses even a single connection: the load may continue without
	// it.
	lost bool
}

// running is a step about to begin.
type running struct {
	step  load.Step
	start time.Time
	// until ends the step.
	until context.Context
	// previous is the number of request numbers that the previous step used up.
	previous int64
	forget   bool // see [issuer.Issuer.Forget]
}

// String names the part in errors.
func (p *part) String() string {
	if p.record.Addr == "" {
		return "this client"
	}
	return "generator " + p.record.Addr
}

func (p *part) preload(ctx context.Context, how Preload, progress func(load.Progress)) error {
	return p.issuer.preload(ctx, how, progress)
}

func (p *part) close(ctx context.Context) (err error) {
	p.sessions, err = p.issuer.close(ctx)
	return err
}

// restart removes earlier steps from the record.
func (p *part) restart() {
	p.before = p.ended.Totals
	p.record.Steps, p.record.Totals = nil, nil
	p.record.SchedulingLag, p.record.Lateness, p.record.Stops = nil, nil, nil
}

// lose records why the part sends nothing more, and reports whether it was not lost before.
func (p *part) lose(cause error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost != nil {
		return false
	}
	p.lost = cause
	if p.cancel != nil {
		p.cancel(cause)
	}
	return true
}

// lostBy returns why the part is lost, nil if it is not.
func (p *part) lostBy() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// calls declares the function by which a loss ends the current call; nil without a call.
func (p *part) calls(cancel context.CancelCauseFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel = cancel; cancel != nil && p.lost != nil {
		cancel(p.lost)
	}
}

// begin adds a step to the record.
func (p *part) begin(index int) {
	p.record.Steps = append(p.record.Steps, results.GeneratorStep{Index: index, Clients: p.clients, FirstSentNS: -1, CPUNS: -1})
	p.sent = false
}

// step returns the record of the current step.
func (p *part) step() *results.GeneratorStep { return &p.record.Steps[len(p.record.Steps)-1] }

// finish records how a step ended.
func (p *part) finish(e *issuer.End) {
	p.ended = *e
	step := p.step()
	step.FirstSentNS, step.CPUNS, step.ClientDelayNS = max(int64(e.FirstSent), -1), max(int64(e.CPU), -1), int64(e.Result.ClientDelay)
	p.record.SchedulingLag, p.record.Lateness = e.SchedulingLag.OrNil(), e.Lateness.OrNil()
	stops := e.Stops
	p.record.Stops = &stops
	if t := p.record.Totals; t != nil {
		own := e.Totals.Minus(p.before)
		t.BytesRead, t.Clamped = own.BytesRead, own.Clamped
	}
}

// intake receives the records of one part in one step: it passes them to the merger and counts
// them.
type intake struct {
	part *part
	to   *merge.Part
	// timing is the timing by which clients are judged.
	timing results.Timing
}

var _ load.MemberSink = (*intake)(nil)

// Second receives one second.
func (in *intake) Second(s load.Second) error {
	if err := in.to.Second(s); err != nil {
		return err
	}
	p := in.part
	p.sent = true
	if p.record.Totals == nil {
		p.record.Totals = &results.Totals{}
	}
	step := p.step()
	for i := range s.Intervals {
		row := &s.Intervals[i]
		p.record.Totals.Add(row)
		if row.Phase == results.PhaseMeasure {
			step.Due += row.OK + row.Failed + row.Unknown + row.Shed + row.Unsent
			step.OK += row.OK
			step.Late += row.Late
			step.AnswerNS += row.Latency(in.timing, workload.OK).SumNS
		}
	}
	return nil
}

// Total does nothing: the merger computes totals from the seconds.
func (in *intake) Total(load.Total) error { return nil }

// Member receives the histogram of a member.
func (in *intake) Member(t load.MemberTotal) error { return in.to.Member(t) }

// Preload describes how keys are written before a load, over connections to some members in turn.
type Preload struct {
	issuer.Preload
	Members []int
}

// broken returns why a call failed, for texts that already name the generator.
func broken(ctx context.Context, err error) error { return remote.Explain(ctx, "its agent", err) }
