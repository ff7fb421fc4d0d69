package run

import (
	"path/filepath"
	"slices"

	"github.com/coreos/dbtester/pkg/clocks"
	"github.com/coreos/dbtester/pkg/results"
)

// Machines holds the samples of the machines, and the members' disks, logs and
// leaders.
type Machines struct {
	Servers []Machine
	Client  Machine
	// Apparent and Allocated are the means of the members' data directories after the
	// stop, in bytes.
	Apparent, Allocated Measure
	Logs                Logs
	// Leaders are the members by index, in the order in which they led the load.
	Leaders []int
	// Events happened during the load, in the client's clock, in their order.
	Events []results.Event
	// diskFile: the sizes of data directories came from a file of their own.
	diskFile bool
}

// Rows returns the servers' readings of each second from the first one on, so many.
func (m *Machines) Rows(first int64, seconds int) []Row {
	rows := make([]Row, max(seconds, 0))
	all := make([]*Reading, len(rows)*len(m.Servers))
	for i := range rows {
		rows[i] = all[i*len(m.Servers) : (i+1)*len(m.Servers)]
	}
	for n, server := range m.Servers {
		for second, r := range server.readings() {
			if at := second - first; at >= 0 && at < int64(len(rows)) {
				rows[at][n] = r
			}
		}
	}
	return rows
}

// Sampled reports whether there is any sample of a server.
func (m *Machines) Sampled() bool {
	return m.Have(func(results.Sample) float64 { return 0 })
}

// Have reports whether any sample of a server has a value.
func (m *Machines) Have(get Gauge) bool {
	return slices.ContainsFunc(m.Servers, func(s Machine) bool {
		return slices.ContainsFunc(s.Samples, func(one results.Sample) bool { return get(one) >= 0 })
	})
}

// MeanPeak is the largest mean over all servers of a second of the load.
func (m *Machines) MeanPeak(load Span, get Gauge) Measure {
	if len(m.Servers) == 0 {
		return noServer
	}
	for _, server := range m.Servers {
		if server.Missing != "" {
			return Missing("%s", server.Missing)
		}
	}
	peak := Missing("no second of the load was sampled on every server")
	servers := make([]map[int64]*Reading, len(m.Servers))
	for i, server := range m.Servers {
		servers[i] = server.readings()
	}
	row := make(Row, len(servers))
	for second := range servers[0] {
		if second < floorDiv(load.From, 1e9) || second*1e9 >= load.To {
			continue
		}
		for i, readings := range servers {
			row[i] = readings[second]
		}
		v := row.Mean(func(r *Reading) Measure { return r.Value(get) })
		switch {
		case !v.Known():
		case !peak.Known() || v.Value > peak.Value:
			peak = Measured(v.Value, peak.N+1)
		default:
			peak.N++
		}
	}
	return peak
}

var noServer = Missing("no server was sampled")

// Largest returns the largest measure of a server, and the server's name.
func (m *Machines) Largest(of func(Machine) Measure) (largest Measure, name string) {
	largest = noServer
	for _, server := range m.Servers {
		one := of(server)
		if !one.Known() {
			return one, ""
		}
		if name == "" || one.Value > largest.Value {
			largest, name = one, server.Name
		}
	}
	return largest, name
}

// setDisks takes the sizes of data directories: apparent ones from a classic file, if
// there are any, else from the members.
func (m *Machines) setDisks(info *Info, file []int64) {
	apparent, allocated := file, []int64(nil)
	for _, member := range info.Record.Members {
		if member.Disk == nil {
			continue
		}
		if file == nil {
			apparent = append(apparent, member.Disk.ApparentBytes)
		}
		allocated = append(allocated, member.Disk.AllocatedBytes)
	}
	m.diskFile = file != nil
	m.Apparent, m.Allocated = m.meanSize(info, apparent), m.meanSize(info, allocated)
}

func (m *Machines) meanSize(info *Info, sizes []int64) Measure {
	members := len(info.Record.Members)
	switch {
	case info.Unattended():
		return Missing(NoAgents)
	case len(sizes) == 0, len(sizes) < members:
		return Missing("%d of %d data directories were measured", len(sizes), max(members, len(m.Servers)))
	}
	var sum float64
	for _, s := range sizes {
		sum += float64(s)
	}
	return Measured(sum/float64(len(sizes)), int64(len(sizes)))
}

// readMachine reads the samples of a machine, one for each second, and converts them
// into the client's clock.
func readMachine(path, name string, track clocks.Track, gaps *Gaps) Machine {
	m := Machine{Name: name}
	samples, err := results.ReadSamples(path)
	if err != nil {
		gaps.Add("%s", problem(path, err))
	}
	m.Samples = shifted(results.EachSecond(samples), track)
	if len(samples) == 0 {
		m.Missing = name + ": no samples"
	}
	return m
}

// readEvents reads the events of the load, and the members by index that led it, in
// order: first the one that led when it began. A file that is missing is a gap: every
// run has events.
func (m *Machines) readEvents(path string, load Span, gaps *Gaps) {
	events, err := results.ReadEvents(path)
	if err != nil {
		gaps.broken(filepath.Base(path), problem(path, err))
	}
	for _, e := range events {
		during := load.From <= e.Time.UnixNano() && e.Time.UnixNano() <= load.To
		if during {
			m.Events = append(m.Events, e)
		}
		switch {
		case e.Kind != results.EventLeader:
		case e.Time.UnixNano() < load.From:
			m.Leaders = []int{e.Member}
		case during:
			m.Leaders = append(m.Leaders, e.Member)
		}
	}
	slices.SortStableFunc(m.Events, func(a, b results.Event) int { return a.Time.Compare(b.Time) })
}
