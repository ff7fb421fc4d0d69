package faults

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep"
)

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

// members returns the members named in a fault. It asks the running cluster.
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

// with names the release for a member that starts again.
func with(version string) string {
	if version == "" {
		return ""
	}
	return " with " + version
}
