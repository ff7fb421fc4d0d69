package run

import (
	"path/filepath"
	"slices"

	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
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
	// peaks are the results of MeanPeak, which need all samples.
	peaks map[peak]Measure
	// diskFile: the sizes of data directories came from a file of their own.
	diskFile bool
}

// EachRow calls each with the servers' readings of each second from the first one on, so
// many, which count from 0. A row holds until the next.
func (m *Machines) EachRow(first int64, seconds int, each func(i int, row Row)) {
	all := make([]*readings, len(m.Servers))
	for n := range m.Servers {
		all[n] = m.Servers[n].readings()
	}
	row := make(Row, len(all))
	for i := range max(seconds, 0) {
		for n := range all {
			row[n] = all[n].of(first + int64(i))
		}
		each(i, row)
	}
}

// Sampled reports whether there is any sample of a server.
func (m *Machines) Sampled() bool {
	return slices.ContainsFunc(m.Servers, func(s Machine) bool { return s.Samples.Len() > 0 })
}

// Have reports whether any sample of a server has a value.
func (m *Machines) Have(get Gauge) (found bool) {
	for i := range m.Servers {
		m.Servers[i].each(get, 0, m.Servers[i].Samples.Len(), func(v float64) bool { found = v >= 0; return !found })
		if found {
			return true
		}
	}
	return false
}

// peak is a quantity and the time that its peak is of.
type peak struct {
	load Span
	of   Quantity
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
	return computedOnce(&m.peaks, peak{load, get}, func() Measure { return m.meanPeak(load, get) })
}

func (m *Machines) meanPeak(load Span, get Gauge) Measure {
	most := Missing("no second of the load was sampled on every server")
	all := make([]*readings, len(m.Servers))
	for i := range m.Servers {
		all[i] = m.Servers[i].readings()
	}
	row := make(Row, len(all))
	for second, first := range all[0].each {
		if second*1e9 >= load.To {
			break // seconds rise
		}
		if second < floorDiv(load.From, 1e9) {
			continue
		}
		row[0] = first
		for i := range all[1:] {
			row[i+1] = all[i+1].of(second)
		}
		v := row.Mean(func(r *Reading) Measure { return r.Value(get) })
		switch {
		case !v.Known():
		case !most.Known() || v.Value > most.Value:
			most = Measured(v.Value, most.N+1)
		default:
			most.N++
		}
	}
	return most
}

var noServer = Missing("no server was sampled")

// Largest returns the largest measure of a server, and the server's name.
func (m *Machines) Largest(of func(*Machine) Measure) (largest Measure, name string) {
	largest = noServer
	for i := range m.Servers {
		server := &m.Servers[i]
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
	samples, err := packed.Read(path)
	if err != nil {
		gaps.Add("%s", problem(path, err))
	}
	m := Machine{Name: name, Samples: samples.EachSecond()}
	m.Samples.Shift(track.Client)
	if m.Samples.Len() == 0 {
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
