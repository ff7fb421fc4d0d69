package consistency

import (
	"cmp"
	"slices"
	"sort"
)

// versionOf adds the version that a request of the batch replaced.
func (j *Judge) versionOf(o *Op) {
	if o.Kind == Guarded && o.Known && !j.opts.Weaker {
		j.replaced = append(j.replaced, replacement{Replaced: Replaced{Version: o.Read, Request: o.Request, Client: o.Client, Sent: o.Sent, End: o.End}})
	}
}

// judgeVersions finds versions of a key that more than one write replaced. It is exact: forgotten
// versions can only contradict by the greatest one.
func (j *Judge) judgeVersions(k *key) {
	if len(j.replaced) == 0 {
		return
	}
	v := &k.made().versions
	all := append(v.open, j.replaced...)
	slices.SortFunc(all, func(a, b replacement) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.End, b.End), cmp.Compare(a.Request, b.Request))
	})
	for n := 1; n < len(all); n++ {
		if first := &all[n-1]; first.Version == all[n].Version {
			j.replacedAgain(k, first.Replaced, &all[n])
		}
	}
	// The write with the greatest version decides among those that had ended when one was sent.
	slices.SortFunc(all, func(a, b replacement) int { return cmp.Compare(a.End, b.End) })
	j.greatest = j.greatest[:0]
	for n := range all {
		most := n
		if n > 0 && all[j.greatest[n-1]].Version > all[n].Version {
			most = j.greatest[n-1]
		}
		j.greatest = append(j.greatest, most)
	}
	for n := range all {
		r := &all[n]
		if v.closed != nil && v.closed.contradicts(&r.Replaced) {
			j.replacedAgain(k, *v.closed, r)
		}
		if ended := sort.Search(n, func(i int) bool { return all[i].End >= r.Sent }); ended > 0 {
			if before := &all[j.greatest[ended-1]]; before.contradicts(&r.Replaced) {
				j.replacedAgain(k, before.Replaced, r)
			}
		}
	}
	v.open = all[:0]
	for n := range all {
		switch r := &all[n]; {
		case r.End >= j.before:
			v.open = append(v.open, *r)
		case v.closed == nil:
			v.closed = new(Replaced)
			*v.closed = r.Replaced
		case v.closed.Version < r.Version:
			*v.closed = r.Replaced
		}
	}
}

// replacedAgain reports a version that was replaced again.
func (j *Judge) replacedAgain(k *key, before Replaced, again *replacement) {
	if again.reported {
		return
	}
	again.reported = true
	j.second.DoubleSwaps++
	j.sample.violated(k.number, 1)
	if len(j.witnesses) < j.opts.MostWitnesses {
		j.witnesses = append(j.witnesses, Witness{Class: DoubleSwap, Key: k.number, Replaced: []Replaced{before, again.Replaced}, Reads: 1})
	}
}
