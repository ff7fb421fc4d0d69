// Package judge decides which marks the numbers of a run deserve. It is pure: evidence in, marks
// out.
package judge

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// Marks returns the marks for a run, including those that it already has: the invalid ones first,
// each kind in the order in which it was found.
func Marks(e Evidence) []results.Mark {
	v := &verdict{e: e, marks: slices.Clone(e.Run.Validity)}
	v.memoryLimit()
	v.lost()
	if e.Run.Totals != nil {
		v.counts()
		v.keys()
		v.wrongValues()
		v.steps()
		v.clients()
		v.library()
		v.otherLoad()
	}
	v.lostClients()
	v.marks = append(v.marks, e.Own...)
	v.hosts()
	v.clocks()
	v.access()
	slices.SortStableFunc(v.marks, func(a, b results.Mark) int {
		switch {
		case a.Invalid == b.Invalid:
			return 0
		case a.Invalid:
			return -1
		default:
			return 1
		}
	})
	return v.marks
}

// memoryLimit names the members in which the kernel killed processes because of the experiment's
// memory limit. The database is not at fault.
func (v *verdict) memoryLimit() {
	for _, m := range v.e.Run.Members {
		if limits := v.e.Run.Resources; limits != nil && m.Use != nil && m.Use.OOMKills > 0 {
			v.mark(mark.MemoryLimit, true, mark.Values{"member": member(m.Index), "killed": float64(m.Use.OOMKills)}, mark.Words{"limit": limits.MemoryText()})
		}
	}
}

// lost names the members that are lost. Up to the number that the load expects, they leave the
// run valid. If more are lost, it is unknown which loss the test was about.
func (v *verdict) lost() {
	most := v.e.Run.Load.Expect.LostServers
	for i, why := range v.e.Lost {
		switch {
		case why == "":
		case v.lostAsExpected():
			v.mark(mark.Expected, false, mark.Values{"member": member(i), "expected_servers": float64(most)}, mark.Words{"why": inOneLine(why)})
		default:
			v.mark(mark.Lost, true, mark.Values{"member": member(i)}, mark.Words{"why": inOneLine(why)})
		}
	}
}

// SelfCheck marks a run whose self-check does not apply to its client.
func SelfCheck(s *results.SelfCheck, client results.Host) []results.Mark {
	if s == nil {
		return nil
	}
	if elsewhere := s.Elsewhere(client); elsewhere != "" {
		return []results.Mark{results.NewMark(mark.SelfCheck, false, nil, mark.Words{"elsewhere": elsewhere})}
	}
	return nil
}

func (v *verdict) counts() {
	t := v.e.Run.Totals
	// Requests in flight on a generator when it was lost have no outcome.
	lost := slices.ContainsFunc(v.e.Clients, func(c Client) bool { return c.Lost != "" })
	explained := lost && t.Pending() >= 0 && t.Sent >= t.OK+t.Failed+t.Unknown
	if !t.Reconcile() && !explained {
		v.mark(mark.Counts, true, mark.Values{
			"offered": float64(t.Offered), "ok": float64(t.OK), "failed": float64(t.Failed), "unknown": float64(t.Unknown), "shed": float64(t.Shed), "unsent": float64(t.Unsent),
		}, nil)
	}
}

func (v *verdict) keys() {
	k := v.e.Run.Keys
	switch {
	case k == nil:
	case k.Error != "":
		v.mark(mark.KeysUnknown, false, nil, mark.Words{"why": k.Error})
	case k.Found() < k.MinAdded || k.Found() > k.MaxAdded:
		v.mark(mark.Keys, true, mark.Values{"added": float64(k.Found()), "least_added": float64(k.MinAdded), "most_added": float64(k.MaxAdded)}, nil)
	}
}

// wrongValues marks loads with a wrong value in an answer. One is enough: the store, the client or
// something between them mixes up data, so the speed does not describe a store.
func (v *verdict) wrongValues() {
	if v.e.Wrong > 0 {
		v.mark(mark.WrongValue, true, mark.Values{"wrong": float64(v.e.Wrong), "answers": float64(v.e.Run.Totals.OK + v.e.Wrong)}, nil)
	}
}

// access records how the clients were authenticated, which costs both sides, and that members were
// not measured in a cluster without agents.
func (v *verdict) access() {
	var how []string
	if v.e.TLS {
		how = append(how, "connections are encrypted (TLS)")
	}
	if v.e.Auth {
		how = append(how, "clients authenticate")
	}
	if len(how) > 0 {
		v.mark(mark.Secured, false, nil, mark.Words{"how": strings.Join(how, ", ")})
	}
	if v.e.Unmeasured {
		v.mark(mark.Unmeasured, false, nil, nil)
	}
}

func (v *verdict) hosts() {
	v.sharedHosts()
	for _, m := range v.e.Run.Members {
		switch d := v.e.Disks[m.Index]; {
		case d.LosesPower():
			v.mark(mark.NotDurable, false, mark.Values{"member": member(m.Index)}, mark.Words{"filesystem": d.Filesystem})
		case d.SyncsTooFast():
			v.mark(mark.NotDurable, false, mark.Values{"member": member(m.Index), "fsync_seconds": d.FsyncP50.Seconds()}, nil)
		}
	}
}
