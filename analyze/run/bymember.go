package run

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Place holds the measured requests that were answered by one member, or by all members with one
// role.
type Place struct {
	Name                string // "member 1", "leader"
	OK, Failed, Unknown int64
	// Share is a percentage among all sent requests.
	Share Measure
	// Mean and P99 cover requests that ended ok, in ms.
	Mean, P99 Measure
}

// Places splits requests by the member that answered them.
type Places struct {
	// List has the members in order, followed by the roles.
	List []Place
	// Missing is the reason for an empty List.
	Missing Measure
}

// Of returns the place with this name, or nil.
func (p *Places) Of(name string) *Place {
	at := slices.IndexFunc(p.List, func(one Place) bool { return one.Name == name })
	if at < 0 {
		return nil
	}
	return &p.List[at]
}

// rolesP99 explains why roles have no percentile.
var rolesP99 = Inapplicable("histograms are recorded for each member, and the leader may change")

// placeRecords are the records per member and role.
type placeRecords struct {
	members []results.MemberSummary
	// missing is the reason for having no records.
	missing Measure
	// roles are keyed by step; nil if unknown.
	roles map[int]results.RoleSums
}

// readPlaceRecords reads the records for all stages at once.
func (f *folderReader) readPlaceRecords() *placeRecords {
	events, err := results.ReadEvents(f.path(results.FileEvents), len(f.record.Members))
	known := err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, results.ErrTruncated)
	p := &placeRecords{}
	if known {
		p.roles = map[int]results.RoleSums{}
	}
	members, missing, err := results.SummarizeMembers(f.dir, f.record, func(m *results.MemberSecond) {
		if !known {
			return
		}
		if p.roles[m.Step] == nil {
			p.roles[m.Step] = results.RoleSums{}
		}
		p.roles[m.Step].Add(f.record, m, events)
	})
	switch p.members = members; {
	case err != nil:
		why := problem(results.FileMembers, err)
		f.run.Gaps.Add("%s", why)
		p.missing = Missing("%s", why)
	case missing != "":
		p.missing = f.run.Info.Unrecorded()
	}
	return p
}

// placesOf splits the measured requests of a stage by member and role.
func (f *folderReader) placesOf(g *Stage) Places {
	if f.places == nil {
		f.places = f.readPlaceRecords()
	}
	if !f.places.missing.Known() {
		return Places{Missing: f.places.missing}
	}
	var out Places
	for index := -1; index < len(f.record.Members); index++ {
		var sum results.MemberSecond
		var h *hdrhistogram.Histogram
		for i := range f.places.members {
			m := &f.places.members[i]
			if m.Member != index || !slices.Contains(g.Steps, m.Step) {
				continue
			}
			sum.Merge(&m.MemberSecond)
			if m.Histogram != nil {
				if h == nil {
					h = results.NewMemberHistogram()
				}
				h.Merge(m.Histogram)
			}
		}
		name := fmt.Sprintf("member %d", index+1)
		if index < 0 {
			name = "unknown member"
			if sum.OK+sum.Failed+sum.Unknown == 0 {
				continue
			}
		}
		out.List = append(out.List, placeOf(name, g, &sum, h))
	}
	out.List = append(out.List, f.roles(g)...)
	out.setShares()
	return out
}

// roles sums requests by the role that the receiving member had.
func (f *folderReader) roles(g *Stage) (out []Place) {
	roles := results.RoleSums{}
	for _, step := range g.Steps {
		roles.Merge(f.places.roles[step])
	}
	if len(f.record.Members) < 2 || roles[results.RoleLeader] == (results.MemberSecond{}) {
		return nil
	}
	for _, role := range []results.Role{results.RoleLeader, results.RoleFollower, results.RoleUnknown} {
		sum := roles[role]
		if sum == (results.MemberSecond{}) {
			continue
		}
		name := map[results.Role]string{results.RoleLeader: "leader", results.RoleFollower: "followers", results.RoleUnknown: "role not known"}[role]
		p := placeOf(name, g, &sum, nil)
		p.P99 = rolesP99
		out = append(out, p)
	}
	return out
}

// placeOf returns the numbers for one place. A nil histogram was not recorded.
func placeOf(name string, g *Stage, sum *results.MemberSecond, h *hdrhistogram.Histogram) Place {
	p := Place{Name: name, OK: sum.OK, Failed: sum.Failed, Unknown: sum.Unknown, Mean: noAnswer, P99: noAnswer}
	if sum.OK == 0 {
		return p
	}
	extent := sum.Service
	if g.Latency.Rated() {
		extent = sum.Response
	}
	p.Mean = Measured(float64(extent.SumNS)/float64(sum.OK)/1e6, sum.OK)
	p.P99 = noHistogram
	if h != nil {
		p.P99 = percentile(min(histogram.Quantile(h, .99), extent.MaxNS), sum.OK, histogram.Enough(.99, sum.OK))
	}
	return p
}

// setShares computes the share for each member and each role.
func (p *Places) setShares() {
	var all int64
	sent := func(one *Place) int64 { return one.OK + one.Failed + one.Unknown }
	for i := range p.List {
		if p.List[i].P99.Missing != rolesP99.Missing {
			all += sent(&p.List[i])
		}
	}
	for i := range p.List {
		p.List[i].Share = Missing("no request was measured")
		if all > 0 {
			p.List[i].Share = Measured(100*float64(sent(&p.List[i]))/float64(all), all)
		}
	}
}
