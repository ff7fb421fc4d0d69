package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/metric"
)

// Servers describes the member machines for the current database in a few words, by their last
// samples: the processors that each member uses, in percent of one, the memory and the disk writes
// by all together, and which member leads. It returns "" before the first sample.
func (r *Run) Servers() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.loads, func(l *oneLoad) bool { return l.of.Tag == r.now.Tag })
	if i < 0 {
		return ""
	}
	l := r.loads[i]
	var used []string
	resident, written := 0.0, 0.0
	for _, name := range l.names() {
		if kind, _, _ := strings.Cut(name, " "); kind != "member" {
			continue
		}
		p := l.machines[name].point
		percent := missing
		if p.percent != metric.Unknown {
			percent = whole(p.percent)
		}
		used = append(used, percent)
		resident, written = sum(resident, p.resident), sum(written, p.written)
	}
	if len(used) == 0 {
		return ""
	}
	text := fmt.Sprintf("members %s %% of a core, %s in memory", strings.Join(used, "/"), bytesText(resident))
	if written >= 0 {
		text += fmt.Sprintf(", %s/s written", bytesText(written))
	}
	if name := l.leaderName(); name != "" {
		text += ", " + name + " leads"
	}
	return text
}

// sum adds a number, and is unknown if either is.
func sum(all, one float64) float64 {
	if all == metric.Unknown || one == metric.Unknown {
		return metric.Unknown
	}
	return all + one
}
