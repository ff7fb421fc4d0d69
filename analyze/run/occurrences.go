package run

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/stalls"
)

// Occurrence kinds that are not in the events.
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
	// mostKinds bounds the kinds, and mostKind the characters in one.
	mostKinds, mostKind = 200, 60
)

// occurrence is something that happened in [from, to], in unix nanoseconds. margin bounds the
// difference between its times and the client clock. asked means that the run caused it on purpose.
type occurrence struct {
	from, to, margin int64
	asked            bool
}

// occurrences returns all occurrences that may coincide with stalls, by kind.
func (r *Run) occurrences(steps []stalls.Step) map[string][]occurrence {
	byKind := map[string][]occurrence{}
	add := func(h Happening) {
		if byKind[h.Name] == nil && len(byKind) >= mostKinds {
			return
		}
		o := occurrence{from: h.From, to: h.To, asked: h.Asked}
		if h.Log != "" {
			o.margin = r.clockError(h.Member)
		}
		byKind[h.Name] = append(byKind[h.Name], o)
	}
	for h := range r.Happenings() {
		if !h.Effect {
			add(h)
		}
	}
	for h := range r.Pauses() {
		add(h)
	}
	var spans []Span
	for i := range steps {
		spans = append(spans, Span{steps[i].From.UnixNano(), steps[i].At(steps[i].Slots).UnixNano()})
	}
	for h := range r.OtherLoad(spans) {
		add(h)
	}
	return byKind
}

// Happening is something that happened in [From, To], in unix nanoseconds by the client clock. Its
// event has the details; happenings outside the events have one with only a member.
type Happening struct {
	results.Event
	// Name is the kind as stalls name it.
	Name     string
	From, To int64
	// Asked means that the run caused it on purpose and that its end was recorded.
	Asked bool
	// Effect means that it only describes actions by the run or observations by its clients, so
	// that it cannot coincide with a stall.
	Effect bool
}

// Pauses yields the times in which this client or a member's runtime did not run.
func (r *Run) Pauses() iter.Seq[Happening] {
	return func(yield func(Happening) bool) {
		for _, s := range r.Info.Record.Stopped() {
			if !yield(Happening{Event: results.Event{Member: -1}, Name: KindClient, From: s.From.UnixNano(), To: s.To().UnixNano()}) {
				return
			}
		}
		if r.Info.Unattended() {
			return // the time between two answers is too long to say when a runtime paused
		}
		for i := range r.Machines.Servers {
			for _, p := range r.Machines.Servers[i].Own.pauses() {
				if !yield(Happening{Event: results.Event{Member: i}, Name: KindCollector, From: p.From, To: p.To}) {
					return
				}
			}
		}
	}
}

// OtherLoad yields the seconds in spans in which programs other than this client and the members
// used much of a machine's processors.
func (r *Run) OtherLoad(spans []Span) iter.Seq[Happening] {
	return func(yield func(Happening) bool) {
		for _, h := range r.hostsUsed() {
			for _, s := range spans {
				s = h.sampled(s)
				for at := s.From; at+1e9 <= s.To; at += 1e9 {
					if h.other(at, at+1e9) >= otherShare && !yield(Happening{Event: results.Event{Member: -1}, Name: KindOther, From: at, To: at + 1e9}) {
						return
					}
				}
			}
		}
	}
}

// noCandidates returns event kinds that only describe actions by the run or observations by its
// clients.
func noCandidates() []string {
	return []string{
		"start", "ready", "load start", "load end", "client step", "stop", "preloaded", "cleanup",
		results.EventLogCut, results.EventConnectionLost, results.EventReconnected, results.EventStopped,
	}
}

// Suffixes for event kinds: the event named before the suffix is over, or was read back.
const (
	endOver = " over"
	endSeen = " read back"
)

// Happenings yields the events during the load, the last one first. An event lasts until a later
// event at the same member ends it; that event is not yielded. The time of a log line is when its
// happening ended.
func (r *Run) Happenings() iter.Seq[Happening] {
	return func(yield func(Happening) bool) {
		type of struct {
			member int
			kind   string
		}
		ends, left := map[of]results.Event{}, noCandidates()
		alone := func(end results.Event) bool {
			return yield(Happening{Event: end, Name: end.Kind, From: end.Time.UnixNano(), To: end.Time.UnixNano(), Effect: true})
		}
		for _, e := range slices.Backward(r.Machines.Events) {
			if before, is := strings.CutSuffix(e.Kind, endOver); is {
				if other, two := ends[of{e.Member, before}]; two && !alone(other) {
					return
				}
				ends[of{e.Member, before}] = e
				continue
			}
			h := Happening{Event: e, Name: e.Kind, From: e.Time.UnixNano(), To: e.Time.Add(e.Took).UnixNano()}
			h.Effect = slices.Contains(left, e.Kind) || strings.HasSuffix(e.Kind, endSeen)
			if e.Log != "" {
				h.From, h.To = e.Time.Add(-e.Took).UnixNano(), e.Time.UnixNano()
			}
			if end, is := ends[of{e.Member, e.Kind}]; is && !h.Effect {
				delete(ends, of{e.Member, e.Kind})
				h.To, h.Asked = end.Time.UnixNano(), true
				h.Name = strings.TrimSuffix(e.Kind+": "+e.Text, ": ")
			}
			if e.Kind == results.EventLeader {
				h.Name = "another leader"
			}
			h.Name = plaintext.Short(h.Name, mostKind)
			if !yield(h) {
				return
			}
		}
		for _, key := range slices.SortedFunc(maps.Keys(ends), func(a, b of) int { return cmp.Or(cmp.Compare(a.member, b.member), cmp.Compare(a.kind, b.kind)) }) {
			if !alone(ends[key]) {
				return
			}
		}
	}
}

// clockError bounds the error in a member clock in nanoseconds.
func (r *Run) clockError(member int) int64 {
	if members := r.Info.Record.Members; member >= 0 && member < len(members) && members[member].Clock != nil {
		return max(int64(members[member].Clock.Error), 0)
	}
	return 0
}

// pauses returns the times between two answers in which the member's runtime stopped its threads
// for at least longPauses, in each second of them if they are longer.
func (o *Own) pauses() (list []Span) {
	i, before := 0, metric.Unknown
	o.Answers.Values(metric.PauseSeconds, 0, o.Answers.Len(), func(now float64) bool {
		if before >= 0 {
			between := Span{o.Answers.Times[i-1], o.Answers.Times[i]}
			if now-before >= longPauses.Seconds()*max(between.seconds(), 1) {
				list = append(list, between)
			}
		}
		i, before = i+1, now
		return true
	})
	return list
}

// hostUsed holds the CPU time that a machine and the run's processes on it used.
type hostUsed struct {
	cpus  int
	host  used
	own   []used
	ended []Span // in which processes of the run ended, so their last use is unknown
}

// used is a sampled CPU time counter.
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
			hosts = append(hosts, hostUsed{cpus: h.AllCPUs(), host: m.usedCPU(metric.HostCPUSeconds)})
		}
		hosts[i].own = append(hosts[i].own, m.usedCPU(metric.CPUSeconds))
		hosts[i].ended = append(hosts[i].ended, m.endings(0, m.Samples.Len())...)
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

// sampled returns the seconds in a span between the first and the last sample from the machine:
// broken records may have spans of centuries.
func (h *hostUsed) sampled(s Span) Span {
	first, last := h.host.times[0], h.host.times[len(h.host.times)-1]
	if s.From < first {
		s.From = first + (s.From%1e9-first%1e9+2e9)%1e9
	}
	return Span{min(s.From, last), min(s.To, last)}
}

// usedCPU returns the CPU time counter of a machine.
func (m *Machine) usedCPU(n metric.Name) (u used) {
	u.times = m.Samples.Times
	m.each(Of(n), 0, m.Samples.Len(), func(v float64) bool { u.values = append(u.values, v); return true })
	return u
}

// other is the share of the machine's processors that other programs used; 0 if unknown.
func (h *hostUsed) other(from, to int64) float64 {
	sum, ok := h.host.grown(from, to)
	if !ok || slices.ContainsFunc(h.ended, func(s Span) bool { return s.From < to && from < s.To }) {
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

// grown is the counter's growth, interpolated between samples.
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
