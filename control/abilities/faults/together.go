package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep"
)

// together applies a fault to several members at the same time, waits for its end, and records it
// as one fault.
func (r *Runner) together(ctx context.Context, d faults.Due) {
	h := faults.Happened{Asked: d.Asked(), Member: -1}
	members, err := r.side(ctx, d.Member)
	h.From = time.Now().UTC()
	if err != nil {
		h.To, h.Failed = h.From, err.Error()
		r.note(h)
		return
	}
	h.Member, h.Members = members[0], members
	who := make([]string, len(members))
	for i, m := range members {
		who[i] = strconv.Itoa(m + 1)
	}
	if d.Member != faults.All && len(members) > 1 { // otherwise each is cut off from each
		d.Beside = strings.Join(who, ",")
	}
	r.run.Step("fault: %s of members %s%s", d.Kind, strings.Join(who, ", "), lasting(d.For))
	r.run.Event(results.Event{Time: h.From, Kind: faults.EventFault, Member: h.Member, Text: d.Kind + " of members " + strings.Join(who, ", ") + lasting(d.For)})
	id := fmt.Sprintf("%d-%d-1", d.Number+1, d.Repeat+1)
	// A fault that began is always undone, so nothing waits for its timer.
	own := context.WithoutCancel(ctx)
	applied := atAll(members, func(m int) (*dbtesterpb.FaultResponse, error) {
		return r.run.Agents.Fault(own, m, &dbtesterpb.FaultRequest{Id: id, Fault: d.Message(), ForNs: int64(d.For)})
	})
	h.Saw, h.Failed = applied.text((*dbtesterpb.FaultResponse).GetSaw)
	h.Saw += applied.spread()
	r.run.Event(results.Event{Time: time.Now().UTC(), Kind: faults.EventReadBack, Member: h.Member, Text: cmp.Or(h.Failed, h.Saw)})
	if h.Failed == "" {
		sleep.For(ctx, d.For)
	}
	over := atAll(members, func(m int) (*dbtesterpb.FaultResponse, error) { return r.run.Agents.Heal(own, m, id) })
	var failed string
	h.SawOver, failed = over.text((*dbtesterpb.FaultResponse).GetSawOver)
	h.Failed = cmp.Or(h.Failed, failed)
	r.over(h)
}

// side returns the members with a common fault, the leader first if it is among them.
func (r *Runner) side(ctx context.Context, named string) (members []int, err error) {
	n := len(r.run.Record.Members)
	most := n
	leader := -1
	if named != faults.All {
		if leader, err = r.run.Leader(ctx); err != nil {
			return nil, fmt.Errorf("find the leader: %w", err)
		}
		most = (n - 1) / 2
	}
	if named == faults.Minority {
		members = append(members, leader)
	}
	for i := range n {
		if i != leader && len(members) < most {
			members = append(members, i)
		}
	}
	if len(members) == 0 {
		return nil, errors.New("the cluster has no such members")
	}
	return members, nil
}

// answer holds the reply from the agent of one member, or the error from the call.
type answer struct {
	member int
	reply  *dbtesterpb.FaultResponse
	err    error
}

type answers []answer

// atAll calls the agents of members at the same time.
func atAll(members []int, ask func(member int) (*dbtesterpb.FaultResponse, error)) answers {
	list := make(answers, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() {
			list[i].member = m
			list[i].reply, list[i].err = ask(m)
		})
	}
	wg.Wait()
	return list
}

// text returns the effects that the agents report, and the errors from those for which the fault
// failed.
func (list answers) text(saw func(*dbtesterpb.FaultResponse) string) (all, failed string) {
	var said, wrong []string
	for _, a := range list {
		if text := cmp.Or(a.reply.GetFailed(), oneLine(a.err)); text != "" {
			wrong = append(wrong, fmt.Sprintf("member %d: %s", a.member+1, text))
		}
		if text := saw(a.reply); text != "" {
			said = append(said, fmt.Sprintf("member %d: %s", a.member+1, text))
		}
	}
	return strings.Join(said, "; "), strings.Join(wrong, "; ")
}

// spread describes the time within which all agents applied the fault, by their clocks.
func (list answers) spread() string {
	first, last := list[0].reply.GetAppliedUnixNs(), list[0].reply.GetAppliedUnixNs()
	for _, a := range list {
		at := a.reply.GetAppliedUnixNs()
		if at == 0 {
			return ""
		}
		first, last = min(first, at), max(last, at)
	}
	if len(list) < 2 {
		return ""
	}
	return fmt.Sprintf("; applied within %v of one another", time.Duration(last-first).Round(time.Millisecond/10))
}
