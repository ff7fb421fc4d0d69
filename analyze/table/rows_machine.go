package table

import (
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
)

// serverSum sums the growth of a counter over the servers, each physical source once.
func serverSum(key run.Source, get run.Counter, text func(float64) string) func(*run.Run) Cell {
	return func(r *run.Run) Cell { return cellOf(r.ServerSum(key, get), text) }
}

// clientSum prints counter growth at the client.
func clientSum(get run.Counter, text func(float64) string) func(*run.Run) Cell {
	return func(r *run.Run) Cell { return cellOf(r.Machines.Client.Growth(r.Windows.Load, get), text) }
}

// meanPeak prints the highest per-second mean over all servers.
func meanPeak(get run.Gauge, text func(float64) string) func(*run.Run) Cell {
	return func(r *run.Run) Cell { return cellOf(r.Machines.MeanPeak(r.Windows.Load, get), text) }
}

// clientPeak prints the largest value of a gauge at the client.
func clientPeak(get run.Gauge, text func(float64) string) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		cell := cellOf(r.Machines.Client.Peak(r.Windows.Load, get), text)
		if cell.Missing == "" && r.Info.Manifest != nil && r.Info.Manifest.Local {
			cell.Marks = append(cell.Marks, "the agents ran inside the client's process, so its numbers include theirs")
		}
		return cell
	}
}

func trafficRows() []Row {
	const load = "over the load: last counter minus first; an interface that several members share is counted once"
	var out []Row
	for _, d := range []struct {
		name, what string
		get        run.Counter
	}{{"RX", "received", run.Of(metric.ReceiveBytes)}, {"TX", "transmitted", run.Of(metric.TransmitBytes)}} {
		out = append(out,
			Row{Name: "SERVER-TOTAL-NETWORK-" + d.name + "-DATA-SUM", Unit: "bytes", Definition: "bytes the servers' interfaces " + d.what + " " + load, Cell: serverSum(run.Network, d.get, run.HumanSize)},
			Row{Name: "SERVER-TOTAL-NETWORK-" + d.name + "-DATA-BYTES-SUM-RAW", Unit: "bytes", Raw: true, Definition: "the same number with all digits", Cell: serverSum(run.Network, d.get, rawText)})
	}
	for _, d := range []struct {
		name, what string
		get        run.Counter
	}{{"RX", "received", run.Of(metric.ReceiveBytes)}, {"TX", "transmitted", run.Of(metric.TransmitBytes)}} {
		out = append(out,
			Row{Name: "CLIENT-TOTAL-NETWORK-" + d.name + "-SUM", Unit: "bytes", Definition: "bytes the client's interface " + d.what + " over the load: last counter minus first", Cell: clientSum(d.get, run.HumanSize)},
			Row{Name: "CLIENT-TOTAL-NETWORK-" + d.name + "-BYTES-SUM-RAW", Unit: "bytes", Raw: true, Definition: "the same number with all digits", Cell: clientSum(d.get, rawText)})
	}
	return out
}

// peakRows are the classic maxima and the errors.
func peakRows() []Row {
	return []Row{
		{Name: "SERVER-MAX-CPU-USAGE", Unit: "%", Definition: "CPU use per server, averaged over the servers in each second; the highest second of the load; 100 % is one core; see MEMBER-MAX-CPU for the busiest member", Cell: meanPeak(run.Of(metric.CPUPercent), percentText)},
		{Name: "SERVER-MAX-MEMORY-USAGE", Unit: "bytes", Definition: "resident memory per server, averaged over the servers in each second; the highest second of the load", Cell: meanPeak(run.Of(metric.RSSBytes), run.HumanSize)},
		{Name: "CLIENT-MAX-CPU-USAGE", Unit: "%", Definition: "highest CPU use of the client in any second of the load; 100 % is one core", Cell: clientPeak(run.Of(metric.CPUPercent), percentText)},
		{Name: "CLIENT-MAX-MEMORY-USAGE", Unit: "bytes", Definition: "largest resident memory of the client during the load", Cell: clientPeak(run.Of(metric.RSSBytes), run.HumanSize)},
		{section: sectionOutcomes, Name: "CLIENT-ERROR-COUNT", Unit: "requests", Definition: "requests of the whole load that failed or have an unknown outcome", Cell: countOf(failures)},
	}
}

// diskRows are the classic disk sums, and the data directories.
func diskRows() []Row {
	const load = " over the load, summed over the servers (the name says AVG): last counter minus first; a disk that several members share is counted once"
	return []Row{
		{Name: "SERVER-AVG-READS-COMPLETED-DELTA-SUM", Unit: "reads", Definition: "reads the disks completed" + load, Cell: serverSum(run.Disk, run.Of(metric.ReadsCompleted), commaText)},
		{Name: "SERVER-AVG-SECTORS-READS-DELTA-SUM", Unit: "512-byte sectors", Definition: "sectors the disks read" + load, Cell: serverSum(run.Disk, run.Of(metric.SectorsRead), commaText)},
		{Name: "SERVER-AVG-WRITES-COMPLETED-DELTA-SUM", Unit: "writes", Definition: "writes the disks completed" + load, Cell: serverSum(run.Disk, run.Of(metric.WritesCompleted), commaText)},
		{Name: "SERVER-AVG-SECTORS-WRITTEN-DELTA-SUM", Unit: "512-byte sectors", Definition: "sectors the disks wrote" + load, Cell: serverSum(run.Disk, run.Of(metric.SectorsWritten), commaText)},
		{section: sectionData, Name: "SERVER-AVG-DISK-SPACE-USAGE", Unit: "bytes", Definition: "apparent size of the files in the data directory after the stop, mean over the members", Cell: diskSpace(func(m *run.Machines) run.Measure { return m.Apparent })},
		{section: sectionData, Name: "DISK-SPACE-ALLOCATED", Unit: "bytes", Definition: "blocks allocated to the data directory after the stop, mean over the members", Ours: true, Cell: attended(diskSpace(func(m *run.Machines) run.Measure { return m.Allocated }))},
	}
}

func diskSpace(get func(*run.Machines) run.Measure) func(*run.Run) Cell {
	return func(r *run.Run) Cell { return cellOf(get(&r.Machines), run.HumanSize) }
}

// attended prints numbers that only agents can measure.
func attended(cell func(*run.Run) Cell) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		if r.Info.Unattended() {
			return inapplicable(run.NoAgents)
		}
		return cell(r)
	}
}
