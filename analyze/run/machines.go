package run

import (
	"path/filepath"
	"slices"

	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// Machines holds samples from all machines, and the members' disks, logs and leaders.
type Machines struct {
	Servers []Machine
	Client  Machine
	// Apparent and Allocated are the mean sizes of the data directories after the stop, in bytes.
	Apparent, Allocated Measure
	Logs                Logs
	// Leaders are the members that led during the load, by index, in order.
	Leaders []int
	// Events happened during the load. They are sorted and use the client clock.
	Events []results.Event
	// peaks caches results from MeanPeak, which needs all samples.
	peaks map[peak]Measure
	// diskFile means that the data directory sizes came from a separate file.
	diskFile bool
}

// Leader returns the member that led during the whole load, or why it is not known.
func (r *Run) Leader() (leader *Machine, why string) {
	leaders := r.Machines.Leaders
	if len(leaders) == 0 {
		leaders = []int{r.Info.Record.Leader}
	}
	switch at := leaders[0]; {
	case r.Info.Unattended() && !r.Machines.Answered():
		return nil, NoAgents
	case len(leaders) > 1:
		return nil, "another member became the leader during the load"
	case at < 0 || at >= len(r.Machines.Servers):
		return nil, "the leader is not known"
	default:
		return &r.Machines.Servers[at], ""
	}
}

// EachRow calls each with the server readings for seconds consecutive seconds starting at first; i
// counts from 0. A row is valid until the next call.
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

// Sampled reports whether any server has a sample.
func (m *Machines) Sampled() bool {
	return slices.ContainsFunc(m.Servers, func(s Machine) bool { return s.Samples.Len() > 0 })
}

// Answered reports whether any server reported metrics about itself.
func (m *Machines) Answered() bool {
	return slices.ContainsFunc(m.Servers, func(s Machine) bool { return s.Own.Answers.Len() > 0 })
}

// Have reports whether any server sample has a value for the gauge.
func (m *Machines) Have(get Gauge) (found bool) {
	for i := range m.Servers {
		m.Servers[i].each(get, 0, m.Servers[i].Samples.Len(), func(v float64) bool { found = v >= 0; return !found })
		if found {
			return true
		}
	}
	return false
}

// peak is a quantity and an interval: the key for a cached peak.
type peak struct {
	load Span
	of   Quantity
}

// MeanPeak is the highest per-second mean over all servers during the load.
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
			break // seconds ascend
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

// Largest returns the largest measure over the servers, and the name of that server.
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

// setDisks takes the data directory sizes from a classic file if it has any, otherwise from the
// members.
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

// readMachine reads the samples of a machine, one per second, and converts their times to the
// client clock.
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

// readEvents reads the events and the leaders in order, starting with the member that led when the
// load began. A missing file is a gap, because every run has events.
func (m *Machines) readEvents(path string, members int, load Span, gaps *Gaps) {
	events, err := results.ReadEvents(path, members)
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
