package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/setting"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/workload"
)

// conditionRows describe the conditions under which the run was made.
func conditionRows() []Row {
	return []Row{
		{Name: "VERSION", Definition: "the version that the running members reported", Cell: func(r *run.Run) Cell {
			return words(JoinDistinct(r.Info.Versions()), "the members were not asked")
		}},
		{Name: "RELEASE", Definition: "how the members' binaries were obtained", Ours: true, Cell: attended(release)},
		{Name: "MEMBERS", Definition: "members of the cluster", Ours: true, Cell: members},
		{Name: "WORKLOAD", Definition: "the named mix that the experiment requests", Ours: true, Cell: func(r *run.Run) Cell {
			if r.Info.Record.Load.Workload == "" {
				return inapplicable("the load has no name")
			}
			return words(r.Info.Record.Load.Workload, "")
		}},
		{Name: "OPERATION", Definition: "the operations with their shares, and the guarantee of a read", Cell: operation},
		{Name: "KEYS", Unit: "keys", Definition: "keys that existed before the load", Ours: true, Cell: keysBefore},
		{Name: "KEY-LAW", Definition: "which of the existing keys an operation used", Ours: true, Cell: func(r *run.Run) Cell {
			if r.Info.Record.Load.KeyLaw == "" {
				return inapplicable("no operation uses existing keys")
			}
			return words(string(r.Info.Record.Load.KeyLaw), "")
		}},
		{Name: "RATE", Unit: "requests/s", Definition: "requests due per second over all clients, regardless of how the servers respond, step by step; A..B if it changed evenly; in a closed loop a client sends its next request when the last one ends", Cell: rate},
		{Name: "TIMED-FROM", Definition: "the start of the latencies above: due gives response time, sent gives service time", Cell: timedFrom},
		{Name: "LOAD", Definition: "the requested length of the load, and the time cut from the measured part", Ours: true, Cell: func(r *run.Run) Cell {
			return words(setting.Lengths(r), "classic inputs do not record it")
		}},
		{Name: "CLIENTS", Unit: "clients", Definition: "concurrent clients on connections, step by step", Cell: clientsCell},
		{Name: "PAYLOAD", Unit: "bytes", Definition: "key size + value size", Cell: payload},
		{Name: "RANGE-LIMIT", Unit: "keys", Definition: "largest number of keys that a range reads", Ours: true, Cell: func(r *run.Run) Cell {
			if l := &r.Info.Record.Load; l.RangeLimit == 0 {
				if l.DescribeRange() != "" {
					return inapplicable("the ranges have no limit")
				}
				return inapplicable("no operation reads a range")
			}
			return count(int64(r.Info.Record.Load.RangeLimit))
		}},
		{Name: "LEADER", Definition: "the leader when the load began, and later leaders that were seen during the load", Ours: true, Cell: leader},
		{Name: "TRANSPORT", Definition: "implementation of the clients: lean is dbtester's own, for less client CPU; standard is the library that other programs use", Ours: true, Cell: transport},
		{Name: "FSYNC", Definition: "when a write is on disk, according to the driver", Ours: true, Cell: func(r *run.Run) Cell {
			return words(r.Info.Record.Fsync, "the driver does not state it")
		}},
		{Name: "DURABLE", Definition: "whether an answered write survives a power cut: NO if the database does not sync, or keeps its data on a memory file system, or a short fdatasync probe there before the load took less than 20 us (median shown, least..most of the members)", Ours: true, Cell: attended(durable)},
		{Name: "SHARED-HOST", Definition: "who shares a machine, and so competes for its CPU, disk and network", Ours: true, Cell: sharedHostCell},
		{Name: "TRIAL", Definition: "which repetition of the experiment", Ours: true, Cell: trial},
	}
}

// transport names the client implementation and the number of requests that it retried by itself.
func transport(r *run.Run) Cell {
	name := r.Info.Transport()
	if name == "" {
		return inapplicable("the database has only one implementation")
	}
	var resent int64
	for _, step := range r.Info.Record.Steps {
		resent += step.Resent
	}
	if resent > 0 {
		name += fmt.Sprintf(", %s requests sent again", commaText(float64(resent)))
	}
	return words(name, "")
}

func release(r *run.Run) Cell {
	started := func(m results.Member) bool { return len(m.Argv) > 0 }
	switch {
	case len(r.Info.Releases()) > 0:
		return words(JoinDistinct(r.Info.Releases()), "")
	case slices.ContainsFunc(r.Info.Record.Members, started):
		return Cell{Text: "an executable that the agent was given"}
	case !r.Info.Record.Ready.IsZero():
		return missing("not known: the cluster was already running")
	}
	return missing("not recorded")
}

func members(r *run.Run) Cell {
	if len(r.Info.Record.Members) == 0 {
		return missing("not recorded")
	}
	return count(int64(len(r.Info.Record.Members)))
}

func operation(r *run.Run) Cell {
	l := r.Info.Record.Load
	text := string(l.Operation)
	if len(l.Mix) > 0 {
		text = mixText(l.Mix)
	}
	if l.Read != "" && text != "" {
		text += ", " + string(l.Read)
	}
	if l.RangeMode != "" && l.RangeMode != workload.RangeValues {
		text += ", ranges of the mode " + string(l.RangeMode)
	}
	if l.SameKey {
		text += ", same key"
	}
	return words(text, "classic inputs do not record it")
}

// mixText formats a mix by its shares.
func mixText(mix []workload.Share) string {
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

func keysBefore(r *run.Run) Cell {
	n := max(r.Info.Record.Load.Keys, r.Info.Record.Load.Preload)
	if n == 0 {
		return inapplicable("no operation uses existing keys")
	}
	return count(n)
}

func rate(r *run.Run) Cell {
	l := r.Info.Record.Load
	var rates []string
	for _, s := range r.Info.Record.Steps {
		rates = append(rates, run.RateText(s.Rate, s.RateEnd))
	}
	if len(rates) == 0 {
		rates = []string{run.RateText(l.Rate, l.RateEnd)}
	}
	text := JoinDistinct(rates)
	text += l.DescribeArrival()
	if l.Backlog == workload.BacklogShed {
		text += ", backlog shed"
	}
	return Cell{Text: text}
}

// The two clocks for latency, as printed in the row TIMED-FROM.
const (
	FromDue  = "due (response time)"
	FromSent = "sent (service time)"
)

func timedFrom(r *run.Run) Cell {
	return clocks(r, FromDue, FromSent)
}

// clocks prints due for loads with a rate and sent for closed loops. For a load with both, each
// word is followed by its stages.
func clocks(r *run.Run, due, sent string) Cell {
	switch {
	case !r.Closed():
		return Cell{Text: due}
	case !r.Rated():
		return Cell{Text: sent}
	}
	var parts []string
	for _, one := range []struct {
		word  string
		rated bool
	}{{due, true}, {sent, false}} {
		parts = append(parts, one.word+" in "+strings.Join(labels(r, one.rated), ", "))
	}
	return Cell{Text: strings.Join(parts, partSeparator)}
}

// labels returns the labels for stages with a rate, or for closed loops.
func labels(r *run.Run, rated bool) (out []string) {
	for _, g := range r.Stages {
		if g.Latency.Rated() == rated {
			out = append(out, g.Label)
		}
	}
	return out
}

func clientsCell(r *run.Run) Cell {
	return words(setting.Clients(r, JoinDistinct), "no step was recorded")
}

func payload(r *run.Run) Cell {
	l := r.Info.Record.Load
	if l.KeySize == 0 && l.ValueSize == 0 {
		return missing("classic inputs do not record it")
	}
	if l.ValueSizeMax > 0 {
		text := fmt.Sprintf("%d + %d..%d", l.KeySize, l.ValueSize, l.ValueSizeMax)
		if law := l.Sizes.String(); law != "" {
			text += " (" + law + ")"
		}
		return Cell{Text: text}
	}
	return number(float64(l.KeySize+l.ValueSize), 0, "%d + %d", l.KeySize, l.ValueSize)
}

func sharedHostCell(r *run.Run) Cell {
	text, known := r.SharedHost()
	text = strings.TrimPrefix(text, "shared by ")
	switch {
	case !known && slices.ContainsFunc(r.Info.Record.Validity, run.IsSharedHost):
		return Cell{Text: "client + at least one member"}
	case !known:
		return missing("the records do not name the members' machines")
	case text == "":
		text = "no"
	}
	return Cell{Text: text}
}

func trial(r *run.Run) Cell {
	if r.Info.Manifest == nil || r.Info.Manifest.Trials < 2 {
		return inapplicable("the experiment ran once")
	}
	return number(float64(r.Info.Manifest.Trial), int64(r.Info.Manifest.Trials), "%d of %d", r.Info.Manifest.Trial, r.Info.Manifest.Trials)
}

// mostLeaders limits the leaders named in a cell.
const mostLeaders = 5

// leader names the members that led during the load. Without events, it names the leader in the
// manifest.
func leader(r *run.Run) Cell {
	all := r.Machines.Leaders
	if len(all) == 0 {
		all = []int{r.Info.Record.Leader}
	}
	var parts []string
	for _, index := range all {
		if index < 0 || index >= len(r.Info.Record.Members) {
			return missing("not known when the load began")
		}
		parts = append(parts, fmt.Sprintf("%d (%s)", index+1, r.Info.Record.Members[index].Addr))
	}
	text := "member " + strings.Join(parts[:min(len(parts), mostLeaders)], ", then ")
	if more := len(parts) - mostLeaders; more > 0 {
		text += fmt.Sprintf(", and %s more", humanize.Comma(int64(more)))
	}
	return number(float64(all[0]+1), 0, "%s", text)
}

func durable(r *run.Run) Cell {
	groups := map[string][]time.Duration{} // probe times by verdict
	var order []string
	unknown := 0
	for _, m := range r.Info.Record.Members {
		if m.Disk == nil {
			unknown++
			continue
		}
		key := durability(*m.Disk, r.Info.Record.SyncClass() == declared.NeverSynced)
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
		order = append(order, fmt.Sprintf("not recorded for %d of %d members", unknown, len(r.Info.Record.Members)))
	}
	return words(strings.Join(order, "; "), "the file systems of the data directories were not recorded")
}

// durability states whether the data of a member survives a power cut. unsynced means that the
// driver declares no fsync at all.
func durability(d results.Disk, unsynced bool) string {
	switch {
	case unsynced:
		return "NO, nothing is synced: " + d.Filesystem
	case d.LosesPower(), d.SyncsTooFast():
		return "NO: " + d.Filesystem
	case d.FsyncP50 == 0:
		return "not probed: " + d.Filesystem
	}
	return "yes: " + d.Filesystem
}
