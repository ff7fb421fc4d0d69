package run

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/stalls"
)

// The kinds of occurrences that are not in the events.
const (
	// KindClient: this client did not run for 100 ms or longer.
	KindClient = "client stopped"
	// KindOther: other programs used much of a machine's processors.
	KindOther = "other load on the machine"
	// KindCollector: a member's runtime stopped its threads.
	KindCollector = "runtime pauses of a member"
)

const (
	// otherShare is the share of a machine's processors that other programs use in a second with
	// other load. longPauses is how long a runtime stops its threads in a second with pauses.
	otherShare = 0.25
	longPauses = 50 * time.Millisecond
	// mostKinds bounds the number of kinds, and mostKind the number of characters of one.
	mostKinds, mostKind = 200, 60
)

// occurrence is something that happened in [from, to], in unix nanoseconds. margin is how far its
// times may differ from the client's clock. asked means that the run did it on purpose.
type occurrence struct {
	from, to, margin int64
	asked            bool
}

// occurrences returns all occurrences that may coincide with stalls, by kind.
func (r *Run) occurrences(steps []stalls.Step) map[string][]occurrence {
	byKind := map[string][]occurrence{}
	add := func(kind string, o occurrence) {
		if byKind[kind] != nil || len(byKind) < mostKinds {
			byKind[kind] = append(byKind[kind], o)
		}
	}
	r.eventOccurrences(add)
	for _, s := range r.Info.Record.Stopped() {
		add(KindClient, occurrence{from: s.From.UnixNano(), to: s.To().UnixNano()})
	}
	for i := range r.Machines.Servers {
		for _, o := range r.Machines.Servers[i].Own.pauses() {
			add(KindCollector, o)
		}
	}
	for _, h := range r.hostsUsed() {
		for i := range steps {
			from := steps[i].From.UnixNano()
			to := steps[i].At(steps[i].Slots).UnixNano()
			for at := from; at+1e9 <= to; at += 1e9 {
				if h.other(at, at+1e9) >= otherShare {
					add(KindOther, occurrence{from: at, to: at + 1e9})
				}
			}
		}
	}
	return byKind
}

// noCandidates returns the kinds of events that only describe the run's actions or its clients'
// observations.
func noCandidates() []string {
	return []string{
		"start", "ready", "load start", "load end", "client step", "stop", "preloaded", "cleanup",
		results.EventLogCut, results.EventConnectionLost, results.EventReconnected, results.EventStopped,
	}
}

// Suffixes of event kinds: the event named before the suffix is over, or was read back.
const (
	endOver = " over"
	endSeen = " read back"
)

// eventOccurrences calls add with each event. An event lasts until a later event of the same member
// says that it is over. The time of a log line is the end of its occurrence.
func (r *Run) eventOccurrences(add func(kind string, o occurrence)) {
	type of struct {
		member int
		kind   string
	}
	ends, left := map[of]time.Time{}, noCandidates()
	for _, e := range slices.Backward(r.Machines.Events) {
		if before, is := strings.CutSuffix(e.Kind, endOver); is {
			ends[of{e.Member, before}] = e.Time
			continue
		}
		if slices.Contains(left, e.Kind) || strings.HasSuffix(e.Kind, endSeen) {
			continue
		}
		kind, o := e.Kind, occurrence{from: e.Time.UnixNano(), to: e.Time.Add(e.Took).UnixNano()}
		if e.Log != "" {
			o = occurrence{from: e.Time.Add(-e.Took).UnixNano(), to: e.Time.UnixNano(), margin: r.clockError(e.Member)}
		}
		if end, is := ends[of{e.Member, e.Kind}]; is {
			delete(ends, of{e.Member, e.Kind})
			o.to, o.asked = end.UnixNano(), true
			kind = strings.TrimSuffix(e.Kind+": "+e.Text, ": ")
		}
		if e.Kind == results.EventLeader {
			kind = "another leader"
		}
		kind = plaintext.Line(kind)
		if runes := []rune(kind); len(runes) > mostKind {
			kind = string(runes[:mostKind]) + "..."
		}
		add(kind, o)
	}
}

// clockError is the error bound of a member's clock in nanoseconds.
func (r *Run) clockError(member int) int64 {
	if members := r.Info.Record.Members; member >= 0 && member < len(members) && members[member].Clock != nil {
		return max(int64(members[member].Clock.Error), 0)
	}
	return 0
}

// pauses returns the times between two answers in which the member's runtime stopped its threads
// for at least longPauses.
func (o *Own) pauses() (list []occurrence) {
	i, before := 0, metric.Unknown
	o.Answers.Values(metric.PauseSeconds, 0, o.Answers.Len(), func(now float64) bool {
		if before >= 0 && now-before >= longPauses.Seconds() {
			list = append(list, occurrence{from: o.Answers.Times[i-1], to: o.Answers.Times[i]})
		}
		i, before = i+1, now
		return true
	})
	return list
}

// hostUsed holds the CPU time that a machine and the run's processes on it used.
type hostUsed struct {
	cpus int
	host used
	own  []used
}

// used is a sampled counter of CPU time.
type used struct {
	times  []int64
	values []float64
}

// hostsUsed returns the machines whose processors were sampled.
func (r *Run) hostsUsed() (hosts []hostUsed) {
	byBoot := map[string]int{}
	add := func(m *Machine, h *results.Host) {
		if h == nil || h.BootID == "" || h.CPUs <= 0 || m.Samples.Len() < 2 {
			return
		}
		i, known := byBoot[h.BootID]
		if !known {
			i = len(hosts)
			byBoot[h.BootID] = i
			hosts = append(hosts, hostUsed{cpus: h.CPUs, host: m.usedCPU(metric.HostCPUSeconds)})
		}
		hosts[i].own = append(hosts[i].own, m.usedCPU(metric.CPUSeconds))
	}
	if r.Info.Manifest != nil {
		add(&r.Machines.Client, &r.Info.Manifest.Client)
	}
	for i := range r.Machines.Servers {
		if i < len(r.Info.Record.Members) {
			add(&r.Machines.Servers[i], r.Info.Record.Members[i].Host)
		}
	}
	return hosts
}

// usedCPU returns a machine's counter of CPU time.
func (m *Machine) usedCPU(n metric.Name) (u used) {
	u.times = m.Samples.Times
	m.each(Of(n), 0, m.Samples.Len(), func(v float64) bool { u.values = append(u.values, v); return true })
	return u
}

// other is the share of the machine's processors that other programs used; 0 if unknown.
func (h *hostUsed) other(from, to int64) float64 {
	sum, ok := h.host.grown(from, to)
	if !ok {
		return 0
	}
	for i := range h.own {
		one, ok := h.own[i].grown(from, to)
		if !ok {
			return 0
		}
		sum -= one
	}
	return sum / float64(h.cpus) / (float64(to-from) / 1e9)
}

// grown is the growth of the counter, interpolated between samples.
func (u *used) grown(from, to int64) (float64, bool) {
	a, okA := u.at(from)
	b, okB := u.at(to)
	return b - a, okA && okB && b >= a
}

func (u *used) at(t int64) (float64, bool) {
	i := sort.Search(len(u.times), func(i int) bool { return cmp.Compare(u.times[i], t) >= 0 })
	if i >= len(u.times) || i == 0 && u.times[0] != t {
		return 0, false
	}
	if u.times[i] == t {
		return u.values[i], u.values[i] >= 0
	}
	part := float64(t-u.times[i-1]) / float64(u.times[i]-u.times[i-1])
	return u.values[i-1] + part*(u.values[i]-u.values[i-1]), u.values[i-1] >= 0 && u.values[i] >= 0
}
