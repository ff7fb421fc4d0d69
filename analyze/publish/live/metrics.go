package live

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coreos/dbtester/pkg/load/exposition"
)

// collector exports the state when it is scraped.
type collector struct {
	run      *Run
	parts    *exposition.Parts
	machines *exposition.Machines
	members  *exposition.Members
	leader   *prometheus.Desc
}

func newCollector(r *Run) *collector {
	return &collector{
		run: r, parts: exposition.NewParts("database", "trial"),
		machines: exposition.NewMachines("database", "trial", "machine"), members: exposition.NewMembers("database", "trial", "machine"),
		leader: prometheus.NewDesc(exposition.Prefix+"leader", "1 for the member that leads, as it was found last.", []string{"database", "trial", "machine"}, nil),
	}
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	c.parts.Describe(out)
	c.machines.Describe(out)
	c.members.Describe(out)
	out <- c.leader
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.run.state()
	for i := range s.loads {
		l := &s.loads[i]
		tag, trial := l.of.Tag, strconv.Itoa(l.of.Trial)
		if l.counts != nil {
			c.parts.Send(out, l.counts, tag, trial)
		}
		for _, name := range l.names() {
			last := l.machines[name].sample
			c.machines.Send(out, &last, tag, trial, name)
		}
		if l.leader > 0 {
			out <- prometheus.MustNewConstMetric(c.leader, prometheus.GaugeValue, 1, tag, trial, l.leaderName())
		}
		for name, a := range l.reported {
			c.members.Send(out, &a.last, tag, trial, name)
		}
	}
}

var _ prometheus.Collector = (*collector)(nil)
