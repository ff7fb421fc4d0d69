package run

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/stalls"
	"github.com/coreos/dbtester/pkg/stats/coincidence"
)

// Stalls are the stretches of the measured windows in which far fewer requests ended ok than were
// due, with the events recorded at the same times.
type Stalls struct {
	// Missing is the reason why the stalls are unknown; "" if they are known.
	Missing string
	// List has all stalls in order.
	List []Stall
	// Kinds lists the event kinds that coincided with a stall: first those that chance does not
	// explain, then those that the run caused on purpose, then by their density in the stalled time
	// compared with all time, highest first.
	Kinds []StallKind
	// Judged is the judged time. Stopped is the time in the windows that was not judged because
	// the client did not run.
	Judged, Stopped time.Duration
	// Slot is the longest slot that was judged as a whole.
	Slot time.Duration
	// Medians counts the steps that were compared with their median. NotJudged holds the reasons
	// why some steps were not judged.
	Medians   int
	NotJudged []string
}

// Stall is a stretch of slots in which far fewer requests ended ok than were expected.
type Stall struct {
	Step   int
	From   time.Time
	Length time.Duration
	// OK counts the requests that ended ok. Expected counts the due requests or, in a closed loop,
	// the requests that end in the median slot.
	OK, Expected int64
	// Coincided lists the overlaps: first those that chance does not explain, then those that the
	// run caused on purpose, then all others, each group by length, longest first.
	Coincided []Overlap
}

// Overlap is the time for which events of one kind coincided with a stall.
type Overlap struct {
	Kind   string
	Length time.Duration
}

// StallKind is an event kind that coincided with stalls.
type StallKind struct {
	Kind string
	// Events counts the events in the windows, and Stalls the stalls that coincided with one.
	Events, Stalls int
	// Overlap is the stalled time with an event, and Covered all judged time with an event.
	Overlap, Covered time.Duration
	// P is the probability that chance causes so much overlap, corrected for the number of kinds.
	// Why is the reason why P is unknown, or "".
	P   float64
	Why string
	// Asked means that the run caused the events on purpose.
	Asked bool
}

// Excludes reports whether chance is excluded.
func (k StallKind) Excludes() bool { return k.Why == "" && k.P < coincidence.Level }

// density compares the stalled time with an event to all time with one.
func (k StallKind) density() float64 { return float64(k.Overlap) / float64(max(k.Covered, 1)) }

// Total returns the total length of all stalls and the longest stall, or nil.
func (s *Stalls) Total() (total time.Duration, longest *Stall) {
	for i := range s.List {
		total += s.List[i].Length
		if longest == nil || s.List[i].Length > longest.Length {
			longest = &s.List[i]
		}
	}
	return total, longest
}

// Nothing is the text for a stall that coincided with no recorded event.
const Nothing = "nothing that was recorded"

// With names the event kinds that a stall coincided with, with the length of each overlap, and with
// p where chance is excluded.
func (s *Stalls) With(of *Stall) string {
	if len(of.Coincided) == 0 {
		return Nothing
	}
	var parts []string
	for _, o := range of.Coincided {
		part := fmt.Sprintf("%s (%.1f s)", o.Kind, o.Length.Seconds())
		if at := slices.IndexFunc(s.Kinds, func(k StallKind) bool { return k.Kind == o.Kind && k.Excludes() }); at >= 0 {
			part = fmt.Sprintf("%s (%.1f s, p %.4f)", o.Kind, o.Length.Seconds(), s.Kinds[at].P)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// mostTested bounds the tested kinds: those with the most events are tested. mostStalls bounds the
// tested stalls.
const (
	mostTested = 20
	mostStalls = 5000
)

// stallsOf finds the stalls in a run and the events that coincided with them. Steps that are nil
// are read from the records.
func stallsOf(r *Run, steps []stalls.Step) (s Stalls) {
	var err error
	if steps == nil {
		steps, err = stalls.Read(r.Dir, r.Info.Record)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Stalls{Missing: "the records have no ticks of 100 ms"}
	case err != nil:
		return Stalls{Missing: problem(results.FileProgress, err)}
	}
	var judged []stalls.Step
	for _, one := range steps {
		if one.Slot == 0 {
			if !slices.Contains(s.NotJudged, one.Why) {
				s.NotJudged = append(s.NotJudged, one.Why)
			}
			continue
		}
		judged = append(judged, one)
		s.Judged += time.Duration(one.Slots-one.Stopped) * one.Slot
		s.Stopped += time.Duration(one.Stopped) * one.Slot
		s.Slot = max(s.Slot, one.Slot)
		if one.Median {
			s.Medians++
		}
		for _, of := range one.Stalls {
			s.List = append(s.List, Stall{Step: one.Index, From: one.At(of.From), Length: one.Length(of), OK: of.OK, Expected: of.Expected})
		}
	}
	switch {
	case len(judged) > 0:
	case len(s.NotJudged) > 0:
		return Stalls{Missing: "no step was judged: " + s.NotJudged[0]}
	default:
		return Stalls{Missing: "no step was recorded"}
	}
	if len(s.List) > 0 {
		s.compare(r, judged)
	}
	return s
}

// compare finds the events that coincided with the stalls.
func (s *Stalls) compare(r *Run, steps []stalls.Step) {
	byKind := r.occurrences(steps)
	names := slices.Sorted(maps.Keys(byKind))
	kinds := map[string]*StallKind{}
	slots := map[string][][]coincidence.Stretch{} // by kind and step
	for _, name := range names {
		k := &StallKind{Kind: name}
		k.Asked = slices.ContainsFunc(byKind[name], func(o occurrence) bool { return o.asked })
		joined := 0
		periodic := false
		for i := range steps {
			list, events := slotsOf(&steps[i], byKind[name])
			slots[name] = append(slots[name], list)
			k.Events, joined = k.Events+events, joined+len(list)
			for _, e := range list {
				k.Covered += time.Duration(steps[i].Judged(e.From, e.To)) * steps[i].Slot
			}
			periodic = periodic || coincidence.Periodic(list)
		}
		switch {
		case len(s.List) < coincidence.Least:
			k.Why = fmt.Sprintf("fewer than %d stalls", coincidence.Least)
		case len(s.List) > mostStalls:
			k.Why = fmt.Sprintf("more than %d stalls", mostStalls)
		case k.Events < coincidence.Least:
			k.Why = fmt.Sprintf("fewer than %d events", coincidence.Least)
		case joined < coincidence.Least:
			k.Why = fmt.Sprintf("fewer than %d times apart", coincidence.Least)
		case periodic:
			k.Why = "events at one period"
		}
		kinds[name] = k
	}
	s.test(r, steps, kinds, slots)
	s.overlap(steps, kinds, slots)
	for _, name := range names {
		if k := kinds[name]; k.Stalls > 0 {
			s.Kinds = append(s.Kinds, *k)
		}
	}
	slices.SortStableFunc(s.Kinds, func(a, b StallKind) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.density(), a.density()), cmp.Compare(b.Overlap, a.Overlap))
	})
	place := map[string]int{}
	for i, k := range s.Kinds {
		place[k.Kind] = i
	}
	for i := range s.List {
		slices.SortFunc(s.List[i].Coincided, func(a, b Overlap) int {
			first, second := s.Kinds[place[a.Kind]].rank(), s.Kinds[place[b.Kind]].rank()
			return cmp.Or(cmp.Compare(first, second), cmp.Compare(b.Length, a.Length), cmp.Compare(place[a.Kind], place[b.Kind]))
		})
	}
}

// rank orders kinds: 0 if chance does not explain them, 1 if the run caused them on purpose, else 2.
func (k StallKind) rank() int {
	switch {
	case k.Excludes():
		return 0
	case k.Asked:
		return 1
	}
	return 2
}

// test sets P for the kinds that can be tested.
func (s *Stalls) test(r *Run, steps []stalls.Step, kinds map[string]*StallKind, slots map[string][][]coincidence.Stretch) {
	var tested []*StallKind
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if k := kinds[name]; k.Why == "" {
			tested = append(tested, k)
		}
	}
	slices.SortStableFunc(tested, func(a, b *StallKind) int { return cmp.Compare(b.Events, a.Events) })
	for i := mostTested; i < len(tested); i++ {
		tested[i].Why = fmt.Sprintf("more than %d kinds", mostTested)
	}
	tested = tested[:min(len(tested), mostTested)]
	if len(tested) == 0 {
		return
	}
	var periods []coincidence.Period
	for i, step := range steps {
		p := coincidence.Period{Ticks: step.Slots}
		for _, of := range step.Stalls {
			p.Stalls = append(p.Stalls, coincidence.Stretch{From: of.From, To: of.To})
		}
		for _, k := range tested {
			p.Events = append(p.Events, slots[k.Kind][i])
		}
		periods = append(periods, p)
	}
	for i, of := range coincidence.Test(periods, len(tested), r.seed()) {
		tested[i].P = of.P
	}
}

// seed derives a seed from the run id and the database tag.
func (r *Run) seed() uint64 {
	h := fnv.New64a()
	if r.Info.Manifest != nil {
		_, _ = h.Write([]byte(r.Info.Manifest.RunID))
	}
	_, _ = h.Write([]byte("/" + r.Info.Tag))
	return h.Sum64()
}

// overlap sets the kinds that each stall coincided with.
func (s *Stalls) overlap(steps []stalls.Step, kinds map[string]*StallKind, slots map[string][][]coincidence.Stretch) {
	for name, byStep := range slots {
		at := 0
		for i := range steps {
			events := byStep[i]
			for _, of := range steps[i].Stalls {
				for len(events) > 0 && events[0].To <= of.From {
					events = events[1:]
				}
				both := 0
				for _, e := range events {
					if e.From >= of.To {
						break
					}
					both += max(0, min(e.To, of.To)-max(e.From, of.From))
				}
				if both > 0 {
					length := time.Duration(both) * steps[i].Slot
					s.List[at].Coincided = append(s.List[at].Coincided, Overlap{name, length})
					kinds[name].Stalls++
					kinds[name].Overlap += length
				}
				at++
			}
		}
	}
}

// slotsOf returns the slots of a step with an event of one kind, joined and in order, and the
// number of events. An event may have begun a slot earlier and ended a slot later.
func slotsOf(step *stalls.Step, all []occurrence) (list []coincidence.Stretch, events int) {
	from := step.From.UnixNano()
	for _, o := range all {
		margin := int64(step.Slot) + o.margin
		first := max(floorDiv(o.from-margin-from, int64(step.Slot)), 0)
		last := min(-floorDiv(-(o.to+margin-from), int64(step.Slot)), int64(step.Slots))
		if last <= first {
			continue
		}
		events++
		list = append(list, coincidence.Stretch{From: int(first), To: int(last)})
	}
	slices.SortFunc(list, func(a, b coincidence.Stretch) int { return cmp.Compare(a.From, b.From) })
	joined := list[:0]
	for _, one := range list {
		if n := len(joined); n > 0 && one.From <= joined[n-1].To {
			joined[n-1].To = max(joined[n-1].To, one.To)
			continue
		}
		joined = append(joined, one)
	}
	return joined, events
}
