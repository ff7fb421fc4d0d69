package consistency

import (
	"cmp"
	"slices"
	"sort"
)

// swaps finds versions of a key that more than one guarded write replaced. It keeps memory for
// that.
type swaps struct {
	replaced []replacement // by requests on the current key
	// greatest has for each write, sorted by end, the one with the greatest version up to it.
	greatest []int
}

// add adds the version that a request in the batch replaced.
func (s *swaps) add(o *Op) {
	s.replaced = append(s.replaced, replacement{Replaced: Replaced{Version: o.Read, Request: o.Request, Client: o.Client, Sent: o.Sent, End: o.End}})
}

// judge calls again with each version that was replaced before and the write that replaced it
// again, and keeps the versions that requests sent at or after before may contradict. It is exact:
// forgotten versions can only contradict by the greatest one.
func (s *swaps) judge(v *versions, before int64, again func(before Replaced, again *replacement)) {
	all := append(v.open, s.replaced...)
	slices.SortFunc(all, func(a, b replacement) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.End, b.End), cmp.Compare(a.Request, b.Request))
	})
	for n := 1; n < len(all); n++ {
		if first := &all[n-1]; first.Version == all[n].Version {
			again(first.Replaced, &all[n])
		}
	}
	// The write with the greatest version decides among those that had ended when one was sent.
	slices.SortFunc(all, func(a, b replacement) int { return cmp.Compare(a.End, b.End) })
	s.greatest = s.greatest[:0]
	for n := range all {
		most := n
		if n > 0 && all[s.greatest[n-1]].Version > all[n].Version {
			most = s.greatest[n-1]
		}
		s.greatest = append(s.greatest, most)
	}
	for n := range all {
		r := &all[n]
		if v.closed != nil && v.closed.contradicts(&r.Replaced) {
			again(*v.closed, r)
		}
		if ended := sort.Search(n, func(i int) bool { return all[i].End >= r.Sent }); ended > 0 {
			if first := &all[s.greatest[ended-1]]; first.contradicts(&r.Replaced) {
				again(first.Replaced, r)
			}
		}
	}
	v.open = all[:0]
	for n := range all {
		switch r := &all[n]; {
		case r.End >= before:
			v.open = append(v.open, *r)
		case v.closed == nil:
			v.closed = new(Replaced)
			*v.closed = r.Replaced
		case v.closed.Version < r.Version:
			*v.closed = r.Replaced
		}
	}
}
