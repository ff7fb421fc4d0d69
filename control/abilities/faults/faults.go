// Package faults makes agents apply faults to their members during a load, probes every member
// meanwhile, and records each fault's effect on the load.
package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/effect"
	"github.com/coreos/dbtester/pkg/results/recovery"
	"github.com/coreos/dbtester/pkg/sleep"
)

// Runner applies the faults of a load.
type Runner struct {
	run    *abilities.Run
	plan   []faults.Due
	prober *prober // nil without probes
	repeat faults.Repeat
	// follow follows the load for repeats that wait for it and for connections that fail back; nil
	// without either. missing is how many repeats did not begin.
	follow  *follow
	missing int

	// interrupted reports whether the run ended before the load.
	interrupted bool

	mu       sync.Mutex
	happened []faults.Happened
	upgrades map[int]faults.Upgrade // by member, from 0
	undos    *faults.UndoFile       // nil before the first command
}

// New returns the faults of a run.
func New(r *abilities.Run) *Runner {
	runner := &Runner{run: r}
	if list := faults.Keys().Of(r.DB.Abilities); len(list) > 0 {
		runner.repeat = faults.Repeated().Of(r.DB.Abilities)
		runner.plan = faults.Plan(list, runner.repeat, r.Experiment.Seed)
		if runner.repeat.Until != "" || runner.failsBack() {
			runner.follow = newFollow(r.DB.Load)
		}
		if every := faults.Probed().Of(r.DB.Abilities); every > 0 {
			runner.prober = &prober{run: r, every: every}
		}
	}
	return runner
}

// Name implements [abilities.Activity].
func (r *Runner) Name() string { return "apply faults" }

// Describe lists the faults.
func (r *Runner) Describe() (lines []string) {
	for _, d := range r.plan {
		if d.Repeat == 0 {
			if d.Kind == faults.Command {
				lines = append(lines, describeCommand(d.Fault))
				continue
			}
			lines = append(lines, fmt.Sprintf("fault: %s of member %s at %v%s%s%s", d.Kind, d.Member, d.At, lasting(d.For), detailed(d.Detail()), with(d.Version)))
		}
	}
	if len(lines) > 0 && r.repeat.Times > 0 {
		lines = append(lines, fmt.Sprintf("all of them %s%s", times(r.repeat.Times), repeated(r.repeat)))
	}
	return lines
}

// describeCommand describes a command and its undo in a line.
func describeCommand(f faults.Fault) string {
	undo := faults.Argv(f.Undoes())
	if undo == "" {
		undo = "nothing"
	}
	return fmt.Sprintf("fault: this machine runs %s at %v, and %s undoes it after %v", faults.Argv(f.Run), f.At, undo, f.For)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// repeated describes when repeats begin.
func repeated(r faults.Repeat) (text string) {
	if r.Every > 0 {
		text = fmt.Sprintf(", every %v", r.Every)
	}
	if r.Until != "" {
		text += ", each fault once the load has recovered"
	}
	return text
}

func lasting(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf(" for %v", d)
}

func detailed(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
}

// with names the release that a member is started with.
func with(version string) string {
	if version == "" {
		return ""
	}
	return " with " + version
}

// Run applies each fault when it is due. It undoes the faults that are not over when ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	if len(r.plan) == 0 {
		return nil
	}
	var probes sync.WaitGroup
	if r.prober != nil {
		probes.Go(func() { r.prober.do(ctx) })
	}
	switch {
	case r.repeat.Until != "":
		r.waiting(ctx)
	case r.follow != nil:
		r.planned(ctx)
	default:
		r.repeats(ctx, time.Now(), r.plan)
	}
	probes.Wait()
	if r.undos != nil {
		if err := r.undos.Close(); err != nil {
			return err
		}
	}
	if r.prober != nil {
		r.prober.end(context.WithoutCancel(ctx))
	}
	r.interrupted = ctx.Err() != nil && !errors.Is(context.Cause(ctx), abilities.ErrOver)
	return nil
}

// repeats applies faults when they are due after a start, and waits until all are over. It
// returns false if the load ended before a fault was due.
func (r *Runner) repeats(ctx context.Context, start time.Time, plan []faults.Due) (all bool) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, d := range plan {
		if !sleep.For(ctx, time.Until(start.Add(d.After))) {
			return false
		}
		wg.Go(func() { r.do(ctx, d) })
	}
	return true
}

// do applies a fault to its members, one after the other.
func (r *Runner) do(ctx context.Context, d faults.Due) {
	if d.Member == faults.All || d.Member == faults.Minority || d.Member == faults.Followers {
		r.together(ctx, d)
		return
	}
	if d.Kind == faults.Command {
		r.command(ctx, d)
		return
	}
	members, err := r.members(ctx, d.Member)
	if err != nil {
		now := time.Now().UTC()
		r.note(faults.Happened{Asked: d.Asked(), Member: -1, From: now, To: now, Failed: err.Error()})
		return
	}
	for turn, member := range members {
		if turn > 0 && !sleep.For(ctx, d.Gap) || ctx.Err() != nil {
			return
		}
		r.one(ctx, d, member, turn)
	}
}

// members returns the members that a fault names. It asks the running cluster.
func (r *Runner) members(ctx context.Context, named string) ([]int, error) {
	n := len(r.run.Record.Members)
	if number, err := strconv.Atoi(named); err == nil {
		return []int{number - 1}, nil
	}
	if named == faults.Each {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	leader := 0
	if n > 1 {
		var err error
		if leader, err = r.run.Leader(ctx); err != nil {
			return nil, fmt.Errorf("find the %s: %w", named, err)
		}
	}
	switch {
	case named == faults.Leader:
		return []int{leader}, nil
	case leader == 0:
		return []int{1}, nil
	}
	return []int{0}, nil
}

// one applies one fault to one member, waits for its end, and records it.
func (r *Runner) one(ctx context.Context, d faults.Due, member, turn int) {
	id := fmt.Sprintf("%d-%d-%d", d.Number+1, d.Repeat+1, turn+1)
	h := faults.Happened{Asked: d.Asked(), Member: member, From: time.Now().UTC()}
	h.Turn = turn
	r.run.Step("fault: %s of member %d%s%s", d.Kind, member+1, lasting(d.For), with(d.Version))
	// A fault that began is always undone, so nothing waits for its timer.
	own := context.WithoutCancel(ctx)
	reply, err := r.run.Agents.Fault(own, member, &dbtesterpb.FaultRequest{Id: id, Fault: d.Message(), ForNs: int64(d.For)})
	r.run.Event(results.Event{Time: h.From, Kind: faults.EventFault, Member: member, Text: d.Kind + lasting(d.For) + with(d.Version)})
	if err != nil {
		r.unsure(own, id, &h, err)
		r.over(h)
		return
	}
	if h.Saw, h.Failed = reply.GetSaw(), reply.GetFailed(); h.Failed != "" {
		r.over(h)
		return
	}
	r.run.Event(results.Event{Time: time.Now().UTC(), Kind: faults.EventReadBack, Member: member, Text: h.Saw})
	sleep.For(ctx, d.For)
	reply, err = r.run.Agents.Heal(own, member, id)
	h.SawOver, h.Failed = reply.GetSawOver(), cmp.Or(reply.GetFailed(), oneLine(err))
	over := time.Now().UTC()
	if d.Version != "" && h.Failed == "" {
		h.Failed = oneLine(r.upgraded(own, d.Version, member, reply.GetRelease()))
	}
	r.overAt(h, over)
}

// unsure undoes a fault if no answer shows whether it began. The agent would undo it after its
// duration, but until then the load would meet a fault that the experiment does not ask for.
func (r *Runner) unsure(ctx context.Context, id string, h *faults.Happened, err error) {
	h.Failed = oneLine(err)
	reply, err := r.run.Agents.Heal(ctx, h.Member, id)
	if err != nil {
		h.Failed += "; whether it began is not known, and it could not be undone: " + oneLine(err)
		return
	}
	h.Saw, h.SawOver = reply.GetSaw(), reply.GetSawOver()
	if h.Saw != "" || h.SawOver != "" {
		h.Failed += "; it began all the same and was undone"
	}
	if why := reply.GetFailed(); why != "" {
		h.Failed += ": " + why
	}
}

// over records a fault that is over.
func (r *Runner) over(h faults.Happened) { r.overAt(h, time.Now().UTC()) }

// overAt records a fault that was over at a time.
func (r *Runner) overAt(h faults.Happened, at time.Time) {
	h.To = at
	r.run.Event(results.Event{Time: h.To, Kind: faults.EventOver, Member: h.Member, Text: cmp.Or(h.Failed, h.SawOver, "nothing to undo")})
	what := h.Kind
	if h.Member >= 0 {
		what += fmt.Sprintf(" of member %d", h.Member+1)
	}
	r.run.Step("fault over: %s: %s", what, cmp.Or(h.Failed, h.SawOver, "nothing to undo"))
	r.note(h)
}

func (r *Runner) note(h faults.Happened) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.happened = append(r.happened, h)
}

// oneLine returns the text of an error without line breaks, "" for nil.
func oneLine(err error) string {
	if err == nil {
		return ""
	}
	return plaintext.Joined(err.Error())
}

// Record marks a run with faults that did not take effect, and with probes that were not
// recorded.
func (r *Runner) Record() {
	for _, h := range r.happened {
		if h.Failed != "" {
			r.run.Mark(mark.FaultFailed, mark.Values{"member": float64(h.Member + 1)}, mark.Words{"kind": h.Kind, "why": h.Failed})
		}
	}
	if r.missing > 0 && !r.interrupted {
		r.run.Mark(mark.RepeatsMissing, mark.Values{"began": float64(r.repeat.Times - r.missing), "asked": float64(r.repeat.Times)}, nil)
	}
	for member, u := range r.upgrades {
		if err := faults.Upgraded().Set(&r.run.Record.Members[member].Records, u); err != nil {
			panic(err) // texts and hashes can always be encoded
		}
	}
	if r.prober != nil {
		r.prober.record()
	}
}

// Finish records each fault's effect on the load.
func (r *Runner) Finish() error {
	if len(r.happened) == 0 {
		return nil
	}
	timeline, err := recovery.Read(r.run.Dir, r.run.Record)
	if err != nil {
		return fmt.Errorf("find what faults did to the load: %w", err)
	}
	probes, err := faults.ReadProbes(filepath.Join(r.run.Dir, results.FileProbes), len(r.run.Record.Members))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, results.ErrTruncated) {
		return fmt.Errorf("find what faults did to probes: %w", err)
	}
	slices.SortStableFunc(r.happened, func(a, b faults.Happened) int { return a.From.Compare(b.From) })
	events, err := results.ReadEvents(filepath.Join(r.run.Dir, results.FileEvents), len(r.run.Record.Members))
	if err != nil && !errors.Is(err, results.ErrTruncated) {
		return fmt.Errorf("find changes of leader during faults: %w", err)
	}
	counts, err := results.ReadErrors(filepath.Join(r.run.Dir, results.FileErrors))
	if err != nil && !errors.Is(err, results.ErrTruncated) {
		return fmt.Errorf("find errors during faults: %w", err)
	}
	for i := range r.happened {
		r.measure(timeline, probes, i)
		in := r.happened[i].Cut()
		r.happened[i].Leaders, r.happened[i].Errors = leaderChanges(events, in), classes(counts, in)
	}
	effects, err := effect.Of(r.run.Dir, r.run.Record, r.Cut())
	if err != nil {
		return fmt.Errorf("find what faults did to latency: %w", err)
	}
	for i, e := range effects {
		r.happened[i].P99, r.happened[i].RestP99 = e.P99, e.RestP99
	}
	if err := faults.WriteTable(filepath.Join(r.run.Dir, results.FileFaults), r.happened); err != nil {
		return err
	}
	return faults.Record().Set(&r.run.Record.Records, r.happened)
}

// leaderChanges counts the changes of leader in a stretch of time.
func leaderChanges(events []results.Event, in results.Stretch) (n int) {
	for _, e := range events {
		if e.Kind == results.EventLeader && !e.Time.Before(in.From) && e.Time.Before(in.To()) {
			n++
		}
	}
	return n
}

// classes counts errors by class in a stretch of time, or nil.
func classes(counts []results.ErrorCount, in results.Stretch) map[string]int64 {
	var n map[string]int64
	for _, c := range counts {
		if c.Second >= in.From.Unix() && c.Second <= in.To().Unix() {
			if n == nil {
				n = map[string]int64{}
			}
			n[c.Class] += c.Count
		}
	}
	return n
}

// patience is how long after the end of a fault the next must begin so that the load had the time
// to recover.
const patience = 5 * time.Second

// measure measures the effect of one fault.
func (r *Runner) measure(timeline *recovery.Timeline, probes []faults.Probe, i int) {
	h := &r.happened[i]
	d := recovery.Disturbance{From: h.From, To: h.To}
	if i > 0 {
		before := r.happened[i-1]
		if d.Since, d.Before = before.To, before.Recovery; before.Recovery != nil {
			d.Since = before.Recovery.Until
		}
	}
	if i+1 < len(r.happened) {
		d.Until = r.happened[i+1].From
	}
	h.Recovery = timeline.Of(d)
	if h.Recovery == nil {
		return
	}
	if len(probes) > 0 {
		h.Silences = faults.Silences(probes, len(r.run.Record.Members), h.From, h.Recovery.Until)
		if h.Member >= 0 {
			h.Back = faults.Back(probes, h.Member+1, h.To, h.Recovery.Until.Add(patience))
		}
		if h.Failed != "" {
			h.Back = recovery.Never
		}
	}
	waited := h.Recovery.Until.Sub(h.To)
	if !r.interrupted && !h.Recovery.Recovered && h.Failed == "" && !r.goesOn(h) && (waited >= patience || d.Until.IsZero()) {
		r.run.Mark(mark.NotRecovered, mark.Values{"member": float64(h.Member + 1), "waited_seconds": max(waited, 0).Seconds()}, mark.Words{"kind": h.Kind})
	}
}

// goesOn reports whether another member gets the same fault after this one, whatever the load
// does meanwhile.
func (r *Runner) goesOn(h *faults.Happened) bool {
	return slices.ContainsFunc(r.happened, func(o faults.Happened) bool {
		return o.Number == h.Number && o.Repeat == h.Repeat && o.Turn > h.Turn
	})
}

// Cut returns the times between each fault and its recovery.
func (r *Runner) Cut() []results.Stretch { return faults.Cut(r.happened) }
