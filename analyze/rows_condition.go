package analyze

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// conditionRows say under which conditions the numbers were taken.
func conditionRows() []row {
	return []row{
		{name: "VERSION", definition: "what the running members reported", cell: func(c *column) Cell {
			return words(list(c.versions()), "the members were not asked")
		}},
		{name: "RELEASE", definition: "how the members' binaries were obtained", ours: true, cell: attended(release)},
		{name: "MEMBERS", definition: "members of the cluster", ours: true, cell: members},
		{name: "WORKLOAD", definition: "the named mix that was asked for", ours: true, cell: func(c *column) Cell {
			if c.run.Load.Workload == "" {
				return inapplicable("the load has no name")
			}
			return words(c.run.Load.Workload, "")
		}},
		{name: "OPERATION", definition: "what the requests did, by their shares, and what a read promised", cell: operation},
		{name: "KEYS", unit: "keys", definition: "keys that existed before the load", ours: true, cell: keysBefore},
		{name: "KEY-LAW", definition: "which of the existing keys an operation took", ours: true, cell: func(c *column) Cell {
			if c.run.Load.KeyLaw == "" {
				return inapplicable("no operation takes existing keys")
			}
			return words(c.run.Load.KeyLaw, "")
		}},
		{name: "RATE", unit: "requests/s", definition: "requests due per second over all clients, whatever the servers do, step by step, A..B where it changed evenly; in a closed loop a client sends the next request when the last one ended", cell: rate},
		{name: "TIMED-FROM", definition: "what the latencies above are counted from: due is response time, sent is service time", cell: timedFrom},
		{name: "LOAD", definition: "how much was asked for, and what was cut from the measured part", ours: true, cell: func(c *column) Cell {
			return words(configured(c), "a classic input does not say")
		}},
		{name: "CLIENTS", unit: "clients", definition: "concurrent clients on connections, step by step", cell: clientsCell},
		{name: "PAYLOAD", unit: "bytes", definition: "key size + value size", cell: payload},
		{name: "RANGE-LIMIT", unit: "keys", definition: "most keys that a range reads", ours: true, cell: func(c *column) Cell {
			if c.run.Load.RangeLimit == 0 {
				return inapplicable("no operation reads a range")
			}
			return count(int64(c.run.Load.RangeLimit))
		}},
		{name: "LEADER", definition: "the member that led when the load began, and those that were found to lead later in it", ours: true, cell: leader},
		{name: "FSYNC", definition: "when a write is on disk, as the driver states it", ours: true, cell: func(c *column) Cell {
			return words(c.run.Fsync, "the driver does not state it")
		}},
		{name: "DURABLE", definition: "whether an answered write survives a power cut: NO if the database does not sync, or keeps its data on a memory file system, or a short fdatasync probe there before the load took less than 20 us (median shown, least..most of the members)", ours: true, cell: attended(durable)},
		{name: "SHARED-HOST", definition: "who shares a machine, and so competes for its CPU, disk and network", ours: true, cell: sharedHostCell},
		{name: "TRIAL", definition: "which repetition of the experiment", ours: true, cell: trial},
	}
}

// versions are what the members reported, in their order.
func (c *column) versions() (out []string) {
	for _, m := range c.run.Members {
		if m.Version != "" {
			out = append(out, m.Version)
		}
	}
	return out
}

// builtIn is what a manifest says of a server that is part of dbtester.
const builtIn = "built-in"

// header names the column, saying that a server is dbtester's own build, and the
// version that ran when the label disagrees.
func (c *column) header() Header {
	h := Header{Tag: c.tag, Text: c.tag}
	if c.run.Built == builtIn && !c.unattended() {
		h.Text += " (" + builtIn + ")"
	}
	var ran []string
	for _, v := range distinct(c.versions()) {
		if !c.run.LabelAgrees(v) || len(distinct(c.versions())) > 1 {
			ran = append(ran, v)
		}
	}
	if len(ran) > 0 {
		h.Text += " (ran " + strings.Join(ran, ", ") + ")"
	}
	return h
}

// releases are how the members' binaries were obtained, in their order. What was
// built in several parts names the release that is one of them.
func (c *column) releases() (out []string) {
	for _, m := range c.run.Members {
		switch {
		case m.Release != nil && !strings.Contains(c.run.Built, m.Release.Version):
			out = append(out, strings.TrimSpace(m.Release.Kind+" "+m.Release.Version))
		case c.run.Built != "" && !c.unattended():
			out = append(out, c.run.Built)
		}
	}
	return out
}

func release(c *column) Cell {
	started := func(m results.Member) bool { return len(m.Argv) > 0 }
	switch {
	case len(c.releases()) > 0:
		return words(list(c.releases()), "")
	case slices.ContainsFunc(c.run.Members, started):
		return Cell{Text: "an executable that the agent was told of"}
	case !c.run.Ready.IsZero():
		return missing("not known: the cluster ran already")
	}
	return missing("not recorded")
}

func members(c *column) Cell {
	if len(c.run.Members) == 0 {
		return missing("not recorded")
	}
	return count(int64(len(c.run.Members)))
}

func operation(c *column) Cell {
	l := c.run.Load
	text := l.Operation
	if len(l.Mix) > 0 {
		text = mixText(l.Mix)
	}
	if l.ReadMode != "" && text != "" {
		text += ", " + l.ReadMode
	}
	if l.SameKey {
		text += ", same key"
	}
	return words(text, "a classic input does not say")
}

// mixText is a mix by its shares.
func mixText(mix []results.Share) string {
	var sum float64
	for _, s := range mix {
		sum += s.Weight
	}
	var parts []string
	for _, s := range mix {
		parts = append(parts, fmt.Sprintf("%s %s %%", s.Operation, shareText(s.Weight/sum)))
	}
	return strings.Join(parts, ", ")
}

func keysBefore(c *column) Cell {
	if c.run.Load.Keys == 0 {
		return inapplicable("no operation takes existing keys")
	}
	return count(c.run.Load.Keys)
}

func rate(c *column) Cell {
	l := c.run.Load
	var rates []string
	for _, s := range c.run.Steps {
		rates = append(rates, rateText(s.Rate, s.RateEnd))
	}
	if len(rates) == 0 {
		rates = []string{rateText(l.Rate, l.RateEnd)}
	}
	text := list(rates)
	if l.Arrival == "poisson" {
		text += ", poisson"
	}
	if l.Backlog == "shed" {
		text += ", backlog shed"
	}
	return Cell{Text: text}
}

// The two clocks of a latency, as TIMED-FROM names them.
const (
	fromDue  = "due (response time)"
	fromSent = "sent (service time)"
)

func timedFrom(c *column) Cell {
	if c.rated() {
		return Cell{Text: fromDue}
	}
	return Cell{Text: fromSent}
}

func clientsCell(c *column) Cell {
	var parts []string
	for _, s := range c.run.Steps {
		parts = append(parts, fmt.Sprintf("%d on %d", s.Clients, s.Connections))
	}
	if len(parts) == 0 {
		for _, n := range c.clientNumbers() {
			parts = append(parts, fmt.Sprint(n))
		}
	}
	return words(list(parts), "no step was recorded")
}

func payload(c *column) Cell {
	l := c.run.Load
	if l.KeySize == 0 && l.ValueSize == 0 {
		return missing("a classic input does not say")
	}
	if l.ValueSizeMax > 0 {
		return Cell{Text: fmt.Sprintf("%d + %d..%d", l.KeySize, l.ValueSize, l.ValueSizeMax)}
	}
	return number(float64(l.KeySize+l.ValueSize), 0, "%d + %d", l.KeySize, l.ValueSize)
}

// notDurableBelow is what no disk reaches: a faster probe was answered by memory.
const notDurableBelow = 20 * time.Microsecond

func durable(c *column) Cell {
	groups := map[string][]time.Duration{} // probes by what they show
	var order []string
	unknown := 0
	for _, m := range c.run.Members {
		if m.Disk == nil {
			unknown++
			continue
		}
		key := durability(*m.Disk, strings.HasPrefix(c.run.Fsync, "none"))
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], m.Disk.FsyncP50)
	}
	for i, key := range order {
		if least, most := slices.Min(groups[key]), slices.Max(groups[key]); most > 0 {
			order[i] += fmt.Sprintf(", fdatasync p50 %.0f us", float64(least)/1e3)
			if most > least {
				order[i] = strings.TrimSuffix(order[i], " us") + fmt.Sprintf("..%.0f us", float64(most)/1e3)
			}
		}
	}
	if unknown > 0 && len(order) > 0 {
		order = append(order, fmt.Sprintf("not recorded of %d of %d members", unknown, len(c.run.Members)))
	}
	return words(strings.Join(order, "; "), "what the data directories lie on was not recorded")
}

// durability says whether a member's data survives a power cut: unsynced says
// that the driver states no fsync at all.
func durability(d results.Disk, unsynced bool) string {
	memory := d.Filesystem == "tmpfs" || d.Filesystem == "ramfs" || d.Filesystem == "overlay"
	switch {
	case unsynced:
		return "NO, nothing is synced: " + d.Filesystem
	case memory, d.FsyncP50 > 0 && d.FsyncP50 < notDurableBelow:
		return "NO: " + d.Filesystem
	case d.FsyncP50 == 0:
		return "not probed: " + d.Filesystem
	}
	return "yes: " + d.Filesystem
}

func sharedHostCell(c *column) Cell {
	text, known := c.sharedHost()
	text = strings.TrimPrefix(text, "shared by ")
	switch {
	case !known && slices.ContainsFunc(c.run.Validity, isSharedHost):
		return Cell{Text: "client + at least one member"}
	case !known:
		return missing("the records do not name the members' machines")
	case text == "":
		text = "no"
	}
	return Cell{Text: text}
}

func trial(c *column) Cell {
	if c.manifest == nil || c.manifest.Trials < 2 {
		return inapplicable("the experiment ran once")
	}
	return number(float64(c.manifest.Trial), int64(c.manifest.Trials), "%d of %d", c.manifest.Trial, c.manifest.Trials)
}
