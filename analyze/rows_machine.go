package analyze

import (
	"fmt"
	"math"
	"strings"

	humanize "github.com/dustin/go-humanize"
)

// sumCell is a counter's growth at the servers, each physical source once.
func sumCell(key source, get counter, text func(float64) string) func(*column) Cell {
	return func(c *column) Cell {
		v, n, marks, why := c.serverSum(key, get)
		if why != "" {
			return missing("%s", why)
		}
		cell := number(v, n, "%s", text(v))
		cell.Marks = marks
		return cell
	}
}

// clientSum is a counter's growth at the client.
func clientSum(get counter, text func(float64) string) func(*column) Cell {
	return func(c *column) Cell {
		v, n, why := c.client.growth(c.window, get)
		if why != "" {
			return missing("%s", why)
		}
		return number(v, n, "%s", text(v))
	}
}

func rawText(v float64) string    { return fmt.Sprintf("%.2f", v) }
func commaText(v float64) string  { return humanize.Comma(int64(math.Round(v))) }
func secondText(v float64) string { return fmt.Sprintf("%.2f sec", v) }

// trafficRows are the network's.
func trafficRows() []row {
	const load = "over the load: last counter less first; an interface that several machines share is counted once"
	var out []row
	for _, d := range []struct {
		name, what string
		get        counter
	}{{"RX", "received", received}, {"TX", "transmitted", transmitted}} {
		out = append(out,
			row{name: "SERVER-TOTAL-NETWORK-" + d.name + "-DATA-SUM", unit: "bytes", definition: "bytes the servers' interfaces " + d.what + " " + load, cell: sumCell(network, d.get, humanSize)},
			row{name: "SERVER-TOTAL-NETWORK-" + d.name + "-DATA-BYTES-SUM-RAW", unit: "bytes", raw: true, definition: "the same in full digits", cell: sumCell(network, d.get, rawText)})
	}
	for _, d := range []struct {
		name, what string
		get        counter
	}{{"RX", "received", received}, {"TX", "transmitted", transmitted}} {
		out = append(out,
			row{name: "CLIENT-TOTAL-NETWORK-" + d.name + "-SUM", unit: "bytes", definition: "bytes the client's interface " + d.what + " over the load: last counter less first", cell: clientSum(d.get, humanSize)},
			row{name: "CLIENT-TOTAL-NETWORK-" + d.name + "-BYTES-SUM-RAW", unit: "bytes", raw: true, definition: "the same in full digits", cell: clientSum(d.get, rawText)})
	}
	return out
}

// peakRows are the classic maxima and the errors.
func peakRows() []row {
	return []row{
		{name: "SERVER-MAX-CPU-USAGE", unit: "%", definition: "largest mean over the servers of a second's CPU use; 100 % is one core; see MEMBER-MAX-CPU for the busiest one", cell: meanPeak(cpu, percentText)},
		{name: "SERVER-MAX-MEMORY-USAGE", unit: "bytes", definition: "largest mean over the servers of a second's resident memory", cell: meanPeak(rss, humanSize)},
		{name: "CLIENT-MAX-CPU-USAGE", unit: "%", definition: "largest CPU use of the client in a second of the load; 100 % is one core", cell: clientPeak(cpu, percentText)},
		{name: "CLIENT-MAX-MEMORY-USAGE", unit: "bytes", definition: "largest resident memory of the client during the load", cell: clientPeak(rss, humanSize)},
		{name: "CLIENT-ERROR-COUNT", unit: "requests", definition: "requests that failed or are unknown", cell: failuresCell},
	}
}

func percentText(v float64) string { return fmt.Sprintf("%.2f %%", v) }

// meanPeak is the largest mean over all servers of one second.
func meanPeak(get gauge, text func(float64) string) func(*column) Cell {
	return func(c *column) Cell {
		if len(c.servers) == 0 {
			return missing("no server was sampled")
		}
		for _, m := range c.servers {
			if m.missing != "" {
				return missing("%s", m.missing)
			}
		}
		best, n := math.NaN(), int64(0)
		perServer := c.serverReadings()
		for second := floorDiv(c.window.from, 1e9); second*1e9 < c.window.to; second++ {
			if v := meanOf(perServer, second, func(r reading) float64 { return r.value(get) }); !math.IsNaN(v) {
				if n++; n == 1 || v > best {
					best = v
				}
			}
		}
		if n == 0 {
			return missing("no second of the load was sampled on every server")
		}
		return number(best, n, "%s", text(best))
	}
}

func clientPeak(get gauge, text func(float64) string) func(*column) Cell {
	return func(c *column) Cell {
		v, n, why := c.client.peak(c.window, get)
		if why != "" {
			return missing("%s", why)
		}
		cell := number(v, n, "%s", text(v))
		if c.manifest != nil && c.manifest.Local {
			cell.Marks = append(cell.Marks, "the agents ran inside the client's process, so its numbers include theirs")
		}
		return cell
	}
}

// diskRows are the classic sums of the disks, and the data directories.
func diskRows() []row {
	const load = " over the load, summed over the servers (the name says AVG): last counter less first; a disk that several members share is counted once"
	return []row{
		{name: "SERVER-AVG-READS-COMPLETED-DELTA-SUM", unit: "reads", definition: "reads the disks completed" + load, cell: sumCell(disk, reads, commaText)},
		{name: "SERVER-AVG-SECTORS-READS-DELTA-SUM", unit: "512-byte sectors", definition: "sectors the disks read" + load, cell: sumCell(disk, sectorsRead, commaText)},
		{name: "SERVER-AVG-WRITES-COMPLETED-DELTA-SUM", unit: "writes", definition: "writes the disks completed" + load, cell: sumCell(disk, writes, commaText)},
		{name: "SERVER-AVG-SECTORS-WRITTEN-DELTA-SUM", unit: "512-byte sectors", definition: "sectors the disks wrote" + load, cell: sumCell(disk, sectorsWritten, commaText)},
		{name: "SERVER-AVG-DISK-SPACE-USAGE", unit: "bytes", definition: "mean over the members of the sizes of the files in the data directory after the stop, apparent", cell: diskSpace(apparent)},
		{name: "DISK-SPACE-ALLOCATED", unit: "bytes", definition: "mean over the members of the blocks allocated to the data directory after the stop", ours: true, cell: attended(diskSpace(allocated))},
	}
}

func apparent(c *column) (sizes []int64) {
	if c.disks != nil {
		return c.disks
	}
	for _, m := range c.run.Members {
		if m.Disk != nil {
			sizes = append(sizes, m.Disk.ApparentBytes)
		}
	}
	return sizes
}

func allocated(c *column) (sizes []int64) {
	for _, m := range c.run.Members {
		if m.Disk != nil {
			sizes = append(sizes, m.Disk.AllocatedBytes)
		}
	}
	return sizes
}

func diskSpace(get func(*column) []int64) func(*column) Cell {
	return func(c *column) Cell {
		sizes := get(c)
		if c.unattended() {
			return missing(noAgents)
		}
		if len(sizes) == 0 || len(sizes) < len(c.run.Members) {
			return missing("%d of %d data directories were measured", len(sizes), max(len(c.run.Members), len(c.servers)))
		}
		var sum float64
		for _, s := range sizes {
			sum += float64(s)
		}
		return size(sum/float64(len(sizes)), int64(len(sizes)))
	}
}

// attended is a cell of what only agents can tell.
func attended(cell func(*column) Cell) func(*column) Cell {
	return func(c *column) Cell {
		if c.unattended() {
			return inapplicable(noAgents)
		}
		return cell(c)
	}
}

// memberRows tell the members apart, which the classic means do not.
func memberRows() []row {
	top := func(name, unit, definition string, get gauge, text func(float64) string) row {
		return row{name: name, unit: unit, definition: definition + "; the member with the most, and which", ours: true, cell: attended(memberPeak(get, text))}
	}
	return []row{
		{name: "CLIENT-CPU-SECONDS", unit: "s", definition: "CPU time of the client over the load", ours: true, cell: clientSum(cpuSeconds, secondText)},
		{name: "SERVER-CPU-SECONDS", unit: "s", definition: "CPU time of all members' processes over the load", ours: true, cell: attended(sumCell(apart, cpuSeconds, secondText))},
		top("MEMBER-MAX-CPU", "%", "largest CPU use of one member in a second of the load; 100 % is one core", cpu, percentText),
		top("MEMBER-MAX-MEMORY", "bytes", "largest resident memory of one member during the load", rss, humanSize),
		top("MEMBER-MAX-RSS-ANON", "bytes", "largest anonymous memory of one member during the load: what it allocated, without file pages", rssAnon, humanSize),
		top("MEMBER-PEAK-RSS", "bytes", "largest resident memory of one member since its start, by the kernel's own mark", rssPeak, humanSize),
		{name: "SERVER-OWN-DISK-READ", unit: "bytes", definition: "bytes the members' processes read from disk over the load, by the kernel's count per process", ours: true, cell: attended(sumCell(apart, ownReads, humanSize))},
		{name: "SERVER-OWN-DISK-WRITTEN", unit: "bytes", definition: "bytes the members' processes sent to disk over the load, by the kernel's count per process", ours: true, cell: attended(sumCell(apart, ownWrites, humanSize))},
		{name: "MEMBER-MAX-DISK-WRITTEN", unit: "bytes", definition: "SERVER-OWN-DISK-WRITTEN of the member with the most, and which", ours: true, cell: attended(memberSumPeak(ownWrites, humanSize))},
		{name: "CLIENT-MAX-RSS-ANON", unit: "bytes", definition: "largest anonymous memory of the client during the load", ours: true, cell: clientPeak(rssAnon, humanSize)},
		{name: "SAMPLES", unit: "samples", definition: "samples taken during the load: client + each member", cell: sampleCounts},
	}
}

// memberPeak is the largest peak over the members, with the member's number.
func memberPeak(get gauge, text func(float64) string) func(*column) Cell {
	return largest(text, func(c *column, m machine) (float64, int64, string) { return m.peak(c.window, get) })
}

// memberSumPeak is the largest growth of a counter over the members.
func memberSumPeak(get counter, text func(float64) string) func(*column) Cell {
	return largest(text, func(c *column, m machine) (float64, int64, string) { return m.growth(c.window, get) })
}

func largest(text func(float64) string, of func(*column, machine) (float64, int64, string)) func(*column) Cell {
	return func(c *column) Cell {
		best, which, n := math.Inf(-1), "", int64(0)
		for _, m := range c.servers {
			v, samples, why := of(c, m)
			if why != "" {
				return missing("%s", why)
			}
			if v > best {
				best, which, n = v, m.name, samples
			}
		}
		if which == "" {
			return missing("no server was sampled")
		}
		return number(best, n, "%s (%s)", text(best), which)
	}
}

func sampleCounts(c *column) Cell {
	n := len(c.client.within(c.window))
	total := int64(n)
	var members []string
	for _, m := range c.servers {
		n := len(m.within(c.window))
		members = append(members, fmt.Sprint(n))
		total += int64(n)
	}
	return number(float64(total), 0, "%d + %s", n, strings.Join(members, ", "))
}
