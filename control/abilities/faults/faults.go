// Package faults makes agents apply faults to their members during a load, probes every member
// meanwhile, and records each fault's effect on the load.
package faults

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/effect"
	"github.com/coreos/dbtester/pkg/results/recovery"
)

// New returns a run's faults.
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

func detailed(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
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

// Left returns the number of members whose probe key may be left, because removing it failed.
func (r *Runner) Left() int64 {
	if r.prober == nil {
		return 0
	}
	return r.prober.left
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

// leaderChanges counts leader changes in a stretch of time.
func leaderChanges(events []results.Event, in results.Stretch) (n int) {
	for _, e := range events {
		if e.Kind == results.EventLeader && !e.Time.Before(in.From) && e.Time.Before(in.To()) {
			n++
		}
	}
	return n
}

// classes counts errors by class in a stretch of time. It returns nil without errors.
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

// patience is the least time between the end of a fault and the next fault that lets the load
// recover.
const patience = 5 * time.Second

// measure measures the effect of fault i.
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
