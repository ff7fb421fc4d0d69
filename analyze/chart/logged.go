package chart

import (
	"time"

	"github.com/coreos/dbtester/analyze/figure"
)

// addLogged adds how long members' logs say that something took, each at the time of its
// line. Such times are far longer than mean latencies, so that the axis becomes
// logarithmic.
func (d *Data) addLogged(f *figure.Figure) {
	for _, r := range d.Runs {
		s := d.line(r)
		s.Name, s.Loose = s.Name+", in members' logs", true
		for _, e := range r.Machines.Events {
			if e.Log != "" && e.Took > 0 {
				s.X, s.Y = append(s.X, elapsedAt(r, e.Time)), append(s.Y, float64(e.Took)/float64(time.Millisecond))
				s.Labels = append(s.Labels, e.Kind)
			}
		}
		if len(s.X) > 0 {
			f.Series, f.Y.Log = append(f.Series, s), true
		}
	}
}
