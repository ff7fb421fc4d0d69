package issue

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/merge"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// part is one part of the load: who issues it, and what is known of it.
type part struct {
	issuer partIssuer
	index  int

	// The fields up to mu belong to the goroutine that follows the part's step, and between
	// two steps to the caller of the set. Clients are of the step that is connected.
	clients int
	record  results.Generator
	// ended is how the last step ended, and before the counts of the steps that are left out.
	ended  issuer.End
	before results.Totals
	sent   bool // records of the present step came
	// sessions are those that its requests took, nil without any, after close.
	sessions *results.LoadSessions

	mu     sync.Mutex              // guards the fields below
	lost   error                   // nil if it is not
	cancel context.CancelCauseFunc // ends the call of its preload or step; nil between calls
}

// partIssuer issues one part: this process, or a generator. One goroutine at a time calls
// its methods.
type partIssuer interface {
	// preload writes the part's share of the keys.
	preload(ctx context.Context, p Preload, progress func(load.Progress)) error
	// connect opens the connections of a step to some members, and returns how many clients
	// of it the part has. Keep leaves the connections open for the next step. A member that
	// takes no connection is returned, and none is open then.
	connect(ctx context.Context, step load.Step, keep bool, members []int) (clients int, refused *refusal, err error)
	// run runs the step that is connected and puts its records into out. Without an end, the
	// part is lost because of the error.
	run(ctx context.Context, r running, out *intake) (*issuer.End, error)
	// close ends what the part has begun, and returns what became of the sessions that its
	// requests took, nil without any.
	close(ctx context.Context) (*results.LoadSessions, error)
}

// refusal is a member that takes no connection.
type refusal struct {
	*connect.RefusedError
	// lost reports that it takes no single connection either: the load may continue without it.
	lost bool
}

// running is a step that begins.
type running struct {
	step  load.Step
	start time.Time
	// until ends the step.
	until context.Context
	// previous is how many request numbers the step before used up.
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

// restart leaves the steps until now out of the record.
func (p *part) restart() {
	p.before = p.ended.Totals
	p.record.Steps, p.record.Totals = nil, nil
	p.record.SchedulingLag, p.record.Lateness, p.record.Stops = nil, nil, nil
}

// lose notes why nothing more comes from the part, and reports whether that is news.
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

// calls declares how a loss ends the call that is made; nil is none.
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

// step is the record of the present step.
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

// intake takes the records of one part in one step: it passes them to the merger and counts
// them.
type intake struct {
	part *part
	to   *merge.Part
	// timing is the one that clients are judged by.
	timing results.Timing
}

var _ load.MemberSink = (*intake)(nil)

// Second takes one second.
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

// Total ignores the total of a series: the merger makes totals of the seconds.
func (in *intake) Total(load.Total) error { return nil }

// Member takes the histogram of a member.
func (in *intake) Member(t load.MemberTotal) error { return in.to.Member(t) }
