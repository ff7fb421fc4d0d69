package cause

import (
	"cmp"
	"slices"

	"github.com/coreos/dbtester/analyze/run"
)

// Judge returns the verdict on a ledger.
func Judge(f *Facts, entries []Entry) *Verdict {
	of := map[string]run.Measure{}
	for _, e := range entries {
		of[e.Name] = e.Millis
	}
	all := f.Response.Value - of[nameFreeClient].Value
	v := &Verdict{Shared: f.Shared, Queued: 100 * of[nameFreeClient].Value / f.Response.Value}
	if all <= 0 {
		return v
	}
	// Lines that overlap sum to more than there was, and each may have all the excess.
	overlap := max(-of[Unexplained].Value, 0)
	v.Unexplained = 100 * of[Unexplained].Value / all
	for _, r := range Rules() {
		share, known := run.Measured(0, f.Response.N), false
		for _, name := range r.Lines {
			if m := of[name]; m.Known() {
				low, high := bounds(m)
				share.Value, share.Low, share.High = share.Value+m.Value, share.Low+low, share.High+high
				known = true
			}
		}
		if !known {
			continue
		}
		share.Low = max(share.Low-overlap, 0)
		if f.Shared {
			r.Words = cmp.Or(r.Shared, r.Words)
		}
		s := Suspect{Rule: r, Share: share.Times(100 / all), Text: r.Numbers(f)}
		if r.AtLeast != nil {
			s.least = r.AtLeast(f)
		}
		v.add(s)
	}
	for i := range v.Suspects {
		s := &v.Suspects[i]
		more := max(s.least-s.Share.Value, 0) // out of the rest, if there is as much
		v.Unexplained -= min(more, max(v.Unexplained, 0))
		s.Share.Value, s.Share.Low, s.Share.High = s.Share.Value+more, max(s.Share.Low, s.least), max(s.Share.High, s.least)
		s.Share.Value, s.Share.High = min(s.Share.Value, 100), min(s.Share.High, 100)
		switch {
		case s.Share.Low > s.Over:
			s.Degree = Named
		case s.Share.Low >= s.Partly:
			s.Degree = Partly
		}
	}
	slices.SortStableFunc(v.Suspects, func(a, b Suspect) int {
		return cmp.Or(cmp.Compare(b.Share.Low, a.Share.Low), cmp.Compare(b.Share.Value, a.Share.Value))
	})
	return v
}

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{clientRule(), outsideRule(), quotaRule(), fsyncRule(), peersRule(), processorsRule()}
}
