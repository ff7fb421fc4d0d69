// Package consistency judges the answers to a load while it runs, and then reads back its keys.
package consistency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability/consistency"
	judge "github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Half judges the answers in one run.
type Half struct {
	run     *abilities.Run
	wish    consistency.Wish
	verdict consistency.Verdict
	load    *judging.Load   // nil unless this process judges answers
	report  *judging.Report // nil before End
}

// New returns the half for r.
func New(r *abilities.Run) *Half {
	h := &Half{run: r, wish: consistency.Keys().Of(r.DB.Abilities)}
	if r.DB.Steps.Load {
		h.verdict = consistency.Plan(h.wish, &r.DB.Load, &r.Info, len(r.Experiment.Generators), r.DB.Reuse)
	}
	return h
}

// Describe names the judgements that will be made. Their absence is mentioned only if the file
// asks for them.
func (h *Half) Describe() []string {
	switch v := &h.verdict; {
	case v.Form == consistency.Judged:
		return []string{"the answer of every get and put is judged, and written keys are read back"}
	case v.Form == consistency.Measured:
		return []string{"the staleness of reads is measured, and written keys are read back: " + v.Why}
	case v.Form == consistency.Unjudged && h.wish == consistency.On:
		return []string{"answers are not judged: " + v.Why}
	}
	return nil
}

// Judging returns the settings with which generators judge the answers to their parts.
func (h *Half) Judging() *dbtesterpb.Judging {
	if !h.verdict.Form.Watched() {
		return nil
	}
	h.verdict.Since = time.Now().UnixNano()
	return &dbtesterpb.Judging{Weaker: h.verdict.Form == consistency.Measured, MostKeys: int64(h.wish.MostKeys())}
}

// Watch returns the judge for the load.
func (h *Half) Watch(spec load.Spec) (load.Watch, error) {
	if !h.verdict.Form.Watched() {
		return nil, nil
	}
	o := judging.Options{Spec: spec, Clients: spec.MostClients(), Weaker: h.verdict.Form == consistency.Measured, MostKeys: h.wish.MostKeys()}
	if !o.Weaker {
		o.Sampled = consistency.Sampled().Of(h.run.DB.Abilities)
	}
	l, err := judging.New(o)
	if err != nil {
		return nil, err
	}
	h.load, h.verdict.Since = l, time.Now().UnixNano()
	return l.Observe, nil
}

// atOnce is the number of keys that are read back at the same time. On a shared cluster it is one,
// or one for each generator.
const atOnce = 16

// End judges the answers left open, and reads back the written keys.
func (h *Half) End(ctx context.Context, i abilities.Issued) {
	if !h.verdict.Form.Watched() || h.load == nil && i.Judge == nil {
		return
	}
	back := h.back(i.Longest)
	if ctx.Err() == nil {
		how := fmt.Sprintf("read back the written keys, for %v at most", back.Within)
		if back.Rate > 0 {
			how += fmt.Sprintf(", %.6g in a second at most", back.Rate)
		}
		h.run.Step("%s", how)
	}
	var r judging.Report
	if i.Judge == nil {
		r = h.load.End(ctx, back, h.run.Dial)
		h.load = nil // several megabytes, which the files that are derived next can use
	} else {
		r = h.ofGenerators(ctx, i, back)
	}
	v := &h.verdict
	if i.Resent > 0 {
		h.doubt(&r, i.Resent)
	}
	h.report = &r
	v.Counts, v.Waits, v.WaitedNS, v.TookNS = r.Counts, i.Waits.Count, i.Waits.NS, r.TookNS
	v.Back, v.Held, v.BackNS, v.NotReadBack = back.Mode, r.Held, r.BackNS, r.NotRead
	v.Sampled = len(r.Sampled)
}

// doubt removes violations from r that writes applied twice may have caused. There is a verdict
// only if a violation remains.
func (h *Half) doubt(r *judging.Report, resent int64) {
	v, deletes := &h.verdict, h.run.DB.Load.Any(workload.Op.Deletes)
	r.Counts.Violations = r.Counts.Violations.AppliedTwice(deletes)
	for n := range r.Seconds {
		c := &r.Seconds[n].Counts
		c.Violations = c.Violations.AppliedTwice(deletes)
	}
	r.Witnesses = slices.DeleteFunc(slices.Clone(r.Witnesses), func(w judge.Witness) bool {
		return w.Class != judge.Phantom && (w.Class != judge.LostValue || deletes)
	})
	if r.Held != nil {
		held := r.Held.AppliedTwice()
		r.Held = &held
	}
	switch {
	case v.Form == consistency.Unjudged, v.Form == consistency.Judged && r.Counts.Violations.All() > 0:
		return
	case v.Form == consistency.Measured:
		v.Form, v.Why = consistency.Unjudged, fmt.Sprintf("the client sent %d requests again by itself, so a write may have been applied twice, and how old the values of reads were is not known", resent)
		return
	}
	kinds := "values that nobody wrote"
	if !deletes {
		kinds += " and missing keys"
	}
	v.Form, v.Why = consistency.Unjudged, fmt.Sprintf("the client sent %d requests again by itself, so a write may have been applied twice: only %s were looked for, and none was found", resent, kinds)
}

// back returns the settings for reading written keys back. On a cluster shared with others, not
// faster than the load wrote, and until one read takes longer than the load bound, or 0.
func (h *Half) back(longest time.Duration) judging.Back {
	r := h.run.Record
	b := judging.Back{Mode: h.strongest(), Connections: atOnce, Within: h.wish.Budget(r.LoadEnd.Sub(r.LoadStart))}
	if len(h.run.DB.Endpoints) == 0 {
		return b
	}
	b.Connections, b.Longest = 1, longest
	if !h.run.DB.FullSpeed() {
		for _, s := range h.run.DB.Load.Stretches() {
			b.Rate = max(b.Rate, s.Rate, s.RateEnd)
		}
	}
	return b
}

// ofGenerators returns the judgements by generators, each on its own keys. If one report is
// missing, the others prove nothing about the load even without a violation.
func (h *Half) ofGenerators(ctx context.Context, i abilities.Issued, back judging.Back) judging.Report {
	reports, err := i.Judge(ctx, back)
	r, v := judging.Merge(reports), &h.verdict
	v.Parts = len(reports)
	if err == nil {
		return r
	}
	why := plaintext.Joined(err.Error())
	r.NotRead = cmp.Or(r.NotRead, why)
	if r.Counts.Operations == 0 || v.Form == consistency.Judged && r.Counts.Violations.All() == 0 {
		v.Form, v.Why = consistency.Unjudged, "a part of the load has no verdict: "+why
	}
	return r
}

// strongest returns the mode in which keys are read back.
func (h *Half) strongest() workload.ReadMode {
	for mode, p := range h.run.Info.Promises {
		if p.Linearizable {
			return mode
		}
	}
	return h.run.Info.Reads[0]
}

// Finish writes the files, record and marks for the verdict.
func (h *Half) Finish() error {
	var errs []error
	if h.report != nil {
		errs = append(errs, h.write(), h.histogram(),
			consistency.WriteWitnesses(filepath.Join(h.run.Dir, consistency.FileWitness), h.report.Witnesses),
			consistency.WriteHistories(filepath.Join(h.run.Dir, consistency.FileHistory), h.report.Sampled))
		h.mark()
	}
	return errors.Join(append(errs, consistency.Record().Set(&h.run.Record.Records, h.verdict))...)
}

// write writes the judgements by second.
func (h *Half) write() error {
	seconds := h.report.Seconds
	if len(seconds) == 0 {
		return nil
	}
	group := consistency.Observed()
	rec := observation.NewRecorder(group)
	for n := range seconds {
		c, at := &seconds[n].Counts, time.Unix(0, seconds[n].Until)
		step := h.run.StepAt(at)
		violations := c.Violations.All()
		if h.verdict.Form != consistency.Judged {
			violations = 0
		}
		for name, number := range map[string]int64{
			consistency.ValueJudged: c.Judged, consistency.ValueUnjudged: c.Unjudged, consistency.ValueUnnumbered: c.Unnumbered,
			consistency.ValueViolations: violations, consistency.ValueStale: c.StaleReads, consistency.ValueStaleness: c.Staleness,
			consistency.ValueBack: c.StepsBack, consistency.ValueOpen: c.OpenZones, consistency.ValueKeys: c.Keys,
		} {
			rec.Add(name, at, step, number)
		}
	}
	w, err := observation.NewWriter(group, h.run.Dir, time.Unix(0, seconds[0].Until))
	if err != nil {
		return err
	}
	return errors.Join(w.Write(rec.Take(1<<62)), w.Close())
}

// histogram records the staleness of reads in a weaker mode.
func (h *Half) histogram() error {
	stale := h.report.Stale
	if stale == nil {
		return nil
	}
	h.verdict.Staleness = &results.Spread{
		N: stale.TotalCount(), P50: stale.ValueAtQuantile(50), P99: stale.ValueAtQuantile(99), P999: stale.ValueAtQuantile(99.9), Max: stale.Max(),
	}
	start := time.Unix(0, h.verdict.Since)
	w, err := histogram.NewLogWriter(filepath.Join(h.run.Dir, consistency.Observed().Log()), start)
	if err != nil {
		return err
	}
	return errors.Join(w.Write(start, h.run.Record.LoadEnd.Sub(start), consistency.ValueStaleness, stale), w.Close())
}

// mark marks a run with wrong answers or keys.
func (h *Half) mark() {
	v := &h.verdict
	if n := v.Violations(); n > 0 {
		h.run.Mark(mark.NotLinearizable, mark.Values{"violations": float64(n), "judged": float64(v.Counts.Judged)}, mark.Words{"classes": v.Counts.Violations.String()})
	}
	if k := v.Held; k != nil && k.Lost() > 0 {
		h.run.Mark(mark.LostWrites, mark.Values{"lost": float64(k.Lost()), "read": float64(k.Read), "older": float64(k.Older), "absent": float64(k.Gone)}, nil)
	}
	if v.Counts.Late > 0 {
		h.run.Mark(mark.JudgedInPart, mark.Values{"unjudged": float64(v.Counts.Unjudged), "late": float64(v.Counts.Late)}, nil)
	}
}

var (
	_ abilities.Describer = (*Half)(nil)
	_ abilities.Watcher   = (*Half)(nil)
	_ abilities.Judger    = (*Half)(nil)
	_ abilities.Ender     = (*Half)(nil)
	_ abilities.Finisher  = (*Half)(nil)
)
