// Package discovery shows how soon all consumers of a service knew that an instance had died, or
// was deployed.
package discovery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/metric"
)

// Half shows instance deaths and deploys in reports.
type Half struct{}

var (
	_ abilities.Tabler = Half{}
	_ abilities.Sayer  = Half{}
	_ abilities.Carder = Half{}
	_ abilities.Actor  = Half{}
	_ abilities.Drawer = Half{}
)

// Name is the experiment kind.
func (Half) Name() string { return "discovery" }

// Acted reports whether instances registered during the load.
func (Half) Acted(r *run.Run) bool { return outcome(r) != nil }

// outcome returns the outcome, or nil without instances.
func outcome(r *run.Run) *discovery.Outcome {
	o, err := discovery.Record().Of(r.Info.Record.Records)
	if err != nil || o.Registered.Registered == 0 {
		return nil
	}
	return &o
}

// Rows returns rows about registrations, and about the changes that consumers learned.
func (Half) Rows() []abilities.Row {
	row := func(name, after, unit, definition string, of func(*run.Run, *discovery.Outcome) (run.Measure, string)) abilities.Row {
		return abilities.Row{Name: name, Unit: unit, After: after, Definition: definition, Cell: cell(of)}
	}
	return []abilities.Row{
		row("DISCOVERY", "LOST-WRITES", "instances", "instances of a service that were registered during the load, by sessions with the TTL that members granted, the database's rule for their end, and the consumers that watched all of them to the end", registered),
		row("DISCOVERY-DEATHS", "DISCOVERY", "ms", "time from the death of an instance until the last consumer knew: the median, and how many deaths all knew, within the promised time where the file names one. For fewer than 300 deaths there is no p99", deaths),
		row("DISCOVERY-DEATH-PARTS", "DISCOVERY-DEATHS", "ms", "the parts of the same times, which add up for each death: what was left of the TTL, counted from the sending of the last renewal; from the end of the TTL until the first consumer knew; and from the first consumer to the last: the median of the last part", parts),
		row("DISCOVERY-DEPLOYS", "DISCOVERY-DEATH-PARTS", "ms", "time from the release of a deployed instance until the last consumer knew its new key: the median, and the parts until the new key was requested and from then on", deploys),
		row("DISCOVERY-ELECTIONS", "DISCOVERY-DEPLOYS", "ms", "time from the death of the leader of the instances until the last consumer knew the next one: the median, and its parts, which add up for each election: what was left of the TTL, counted from the sending of the last renewal; from the end of the TTL until the first consumer or instance knew that the leader was gone; until the next one had the key that is for one alone; and until the last consumer had heard of it", elections),
		row("DISCOVERY-WRONG", "DISCOVERY-ELECTIONS", "changes", "registrations that ended before the rule allows, and changes that a consumer never heard of, both of which make the run invalid; and those that ended although their instances lived, or were not known by the end", wrong),
		row("DISCOVERY-RENEWALS", "DISCOVERY-WRONG", "renewals", "renewals of registrations that were answered, their response times, and how many were not answered or were sent late by this client", renewals),
		row("DISCOVERY-IDLE-CPU", "DISCOVERY-RENEWALS", "% of a core", "processor time of the leader's processes before the first death and deploy, while nothing happened to the instances: their renewals, and the load beside them", idle),
	}
}

// cell returns a function that formats a part in the record.
func cell(of func(*run.Run, *discovery.Outcome) (run.Measure, string)) func(*run.Run) (run.Measure, string) {
	return func(r *run.Run) (run.Measure, string) {
		o, err := discovery.Record().Of(r.Info.Record.Records)
		switch {
		case err != nil:
			return run.Missing("%v", err), ""
		case o.Registered.Registered == 0:
			return run.Inapplicable("no instances were registered"), ""
		}
		return of(r, &o)
	}
}

func count(n int) string { return humanize.Comma(int64(n)) }

// seconds formats times about as long as a session TTL, and short times about as long as a fan-out.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

func short(d time.Duration) string {
	if d >= time.Second { // a hand-off that waits for a LockDelay
		return seconds(d)
	}
	return fmt.Sprintf("%.3f ms", float64(d)/1e6)
}

// percentiles formats a distribution: with fewer than 300 times, p95 and the largest replace p99.
func percentiles(t discovery.Times, text func(time.Duration) string) string {
	if t.N == 1 {
		return text(t.Max)
	}
	list := []string{"p50 " + text(t.P50), "p95 " + text(t.P95)}
	if t.P99 > 0 {
		list = append(list, "p99 "+text(t.P99))
	}
	return strings.Join(append(list, "longest "+text(t.Max)), ", ")
}

// measure is the median in milliseconds.
func measure(t discovery.Times) run.Measure {
	return run.Measure{Value: float64(t.P50) / 1e6, N: int64(t.N)}
}

// times returns how long a part took, over the changes of one kind that all consumers knew.
func times(o *discovery.Outcome, k discovery.Kind, part func(*discovery.Change) time.Duration) discovery.Times {
	return discovery.TimesOf(o.Of(k), part)
}

// The parts into which a change is split.
func whole(c *discovery.Change) time.Duration   { return c.Whole }
func left(c *discovery.Change) time.Duration    { return c.Left }
func late(c *discovery.Change) time.Duration    { return c.Late }
func again(c *discovery.Change) time.Duration   { return c.Again }
func handOff(c *discovery.Change) time.Duration { return c.HandOff }
func fanOut(c *discovery.Change) time.Duration  { return c.FanOut }

func registered(_ *run.Run, o *discovery.Outcome) (run.Measure, string) {
	text := fmt.Sprintf("%s, TTL %v", count(o.Registered.Registered), o.TTL)
	if o.TTL != o.Plan.TTL {
		text += fmt.Sprintf(" (asked %v)", o.Plan.TTL)
	}
	text += fmt.Sprintf("; a %s ends %s; %.0f registered/s; %s consumers, by %s", o.What, o.Rule, o.PerSecond, count(o.Watching), o.Watch)
	if o.NotRegistered > 0 {
		text += fmt.Sprintf("; %s not registered: %s", count(o.NotRegistered), o.Why)
	}
	if o.Broken > 0 {
		text += fmt.Sprintf("; %s consumers stopped: %s", count(o.Broken), o.BrokenWhy)
	}
	if way := beside(o); way != "" {
		text += "; another way: " + way
	}
	return run.Counted(int64(o.Registered.Registered)), text
}

// known states how many changes of one kind all consumers knew; "" without such changes.
func known(o *discovery.Outcome, k discovery.Kind) string {
	if o.Count(k) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s", count(len(o.Of(k))), count(o.Count(k)))
}

// promise states how many deaths were known within the planned notice; "" without a notice or
// deaths.
func promise(o *discovery.Outcome) string {
	if o.Plan.Notice <= 0 || o.Count(discovery.Death) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s of %s within %v", count(o.Kept()), count(o.Count(discovery.Death)), o.Plan.Notice)
	if o.Latest > o.Plan.Notice {
		text += fmt.Sprintf(" (the rule may take %v)", o.Latest)
	}
	return text
}

func deaths(_ *run.Run, o *discovery.Outcome) (run.Measure, string) {
	t := times(o, discovery.Death, whole)
	switch {
	case o.Count(discovery.Death) == 0:
		return run.Inapplicable("no instance died"), ""
	case t.N == 0:
		return run.Missing("no death was known to all consumers by the end of the load"), ""
	}
	text := percentiles(t, seconds) + "; " + known(o, discovery.Death) + " known to all"
	if kept := promise(o); kept != "" {
		text += ", " + kept
	}
	if o.Delayed > 0 {
		text += fmt.Sprintf("; %s reports were read after a stop of this client of at most %v", count(o.Delayed), o.LongestStop.Round(time.Millisecond))
	}
	return measure(t), text
}

func parts(_ *run.Run, o *discovery.Outcome) (run.Measure, string) {
	f := times(o, discovery.Death, fanOut)
	if f.N == 0 {
		return run.Inapplicable("no death was known to all consumers"), ""
	}
	return measure(f), fmt.Sprintf("of the TTL left %s; session ended late by %s; to the last consumer %s; known to %s",
		percentiles(times(o, discovery.Death, left), seconds), percentiles(times(o, discovery.Death, late), seconds), percentiles(f, short), short(o.Resolution))
}

func deploys(_ *run.Run, o *discovery.Outcome) (run.Measure, string) {
	t := times(o, discovery.Deploy, whole)
	switch {
	case o.Count(discovery.Deploy) == 0:
		return run.Inapplicable("no instance was deployed"), ""
	case t.N == 0:
		return run.Missing("no new key was known to all consumers by the end of the load"), ""
	}
	return measure(t), fmt.Sprintf("%s; until the new key was requested %s, to the last consumer %s; %s known to all",
		percentiles(t, short), percentiles(times(o, discovery.Deploy, again), short), percentiles(times(o, discovery.Deploy, fanOut), short), known(o, discovery.Deploy))
}

func elections(_ *run.Run, o *discovery.Outcome) (run.Measure, string) {
	t := times(o, discovery.Election, whole)
	switch {
	case o.Count(discovery.Election) == 0:
		return run.Inapplicable("no leader died"), ""
	case t.N == 0:
		return run.Missing("no next leader was known to all consumers by the end of the load"), ""
	}
	of := func(part func(*discovery.Change) time.Duration) discovery.Times {
		return times(o, discovery.Election, part)
	}
	return measure(t), fmt.Sprintf("%s; of the TTL left %s; session ended late by %s; until the next leader %s; to the last consumer %s; %s known to all",
		percentiles(t, seconds), percentiles(of(left), seconds), percentiles(of(late), seconds), percentiles(of(handOff), short), percentiles(of(fanOut), short), known(o, discovery.Election))
}

func wrong(_ *run.Run, o *discovery.Outcome) (run.Measure, string) {
	return run.Counted(int64(o.Early + o.Lost)), fmt.Sprintf("%s ended early (%s alive), %s never heard of by a consumer; %s ended unanswered, %s missed by this client; %s not known by the end; of %s changes told",
		count(o.Early), count(o.Alive), count(o.Lost), count(o.Unrenewed), count(o.Missed), count(o.Behind), humanize.Comma(o.Told))
}

func renewals(_ *run.Run, o *discovery.Outcome) (run.Measure, string) {
	k := o.Keeps
	if k == nil {
		return run.Missing("no renewal was answered"), ""
	}
	list := []string{humanize.Comma(k.N)}
	if k.Enough(.5) {
		list = append(list, "p50 "+short(time.Duration(k.P50)))
	}
	if k.Enough(.99) {
		list = append(list, "p99 "+short(time.Duration(k.P99)))
	}
	list = append(list, "longest "+short(time.Duration(k.Max)), humanize.Comma(o.KeepsLost)+" lost", humanize.Comma(o.KeepsLate)+" sent late")
	return run.Counted(k.N), strings.Join(list, ", ") + "; by " + o.Renewal
}

// idle is the processor time used by the leader before the first change.
func idle(r *run.Run, o *discovery.Outcome) (run.Measure, string) {
	m := idleCPU(r, o)
	if !m.Known() {
		return m, ""
	}
	return m, fmt.Sprintf("%s of a core in %v, with %.1f renewals/s and the load beside them", percent(m), o.Quiet, float64(o.Registered.Registered)/o.Plan.Keep.Seconds())
}

func percent(m run.Measure) string { return fmt.Sprintf("%.1f %%", m.Value) }

// idleCPU is the leader's processor time while nothing happened to instances, in percent of a core.
func idleCPU(r *run.Run, o *discovery.Outcome) run.Measure {
	leader, why := r.Leader()
	if why != "" {
		return run.Missing("%s", why)
	}
	from := o.Began.UnixNano()
	return leader.ShareWithin([]run.Span{{From: from, To: from + int64(o.Quiet)}}, metric.CPUSeconds).Times(100)
}

// outcomes returns the outcomes in runs with instances, and the runs.
func outcomes(runs []*run.Run) (list []*discovery.Outcome, of []*run.Run) {
	for _, r := range runs {
		if o := outcome(r); o != nil {
			list, of = append(list, o), append(of, r)
		}
	}
	return list, of
}

// beside returns another way for database users to find dead instances, or "". It has no leaders,
// so runs with elections return "".
func beside(o *discovery.Outcome) string {
	if o.Plan.Elections > 0 {
		return ""
	}
	return o.Beside
}

// unmeasured returns the other way for database users to find dead instances, if no run in the
// report used it; else "".
func unmeasured(o *discovery.Outcome, database string, runs [][]*run.Run) string {
	for _, of := range runs {
		list, by := outcomes(of)
		for i, other := range list {
			if by[i].Info.Record.Database == database && other.Plan.Registry != o.Plan.Registry {
				return ""
			}
		}
	}
	return beside(o)
}

// Say returns the sentence about when all consumers knew about a death.
func (Half) Say(names []string, runs [][]*run.Run) string {
	var said, unknown, besides []string
	consumers, kind := 0, discovery.Election // unless an instance died otherwise
	for i := range names {
		list, _ := outcomes(runs[i])
		if slices.ContainsFunc(list, func(o *discovery.Outcome) bool { return o.Count(discovery.Election) == 0 }) {
			kind = discovery.Death
		}
	}
	for i, name := range names {
		list, of := outcomes(runs[i])
		var medians []time.Duration
		for _, o := range list {
			consumers = max(consumers, o.Watching)
			if t := times(o, kind, whole); t.N > 0 {
				medians = append(medians, t.P50)
			}
		}
		if len(medians) == 0 {
			unknown = append(unknown, name)
			continue
		}
		slices.Sort(medians)
		text := fmt.Sprintf("%s %.1f s", name, medians[0].Seconds())
		if last := medians[len(medians)-1]; len(medians) > 1 {
			text += fmt.Sprintf(" to %.1f s (medians of %d trials)", last.Seconds(), len(medians))
		} else {
			t := times(list[0], kind, whole)
			text += fmt.Sprintf(" (longest %.1f s of %s)", t.Max.Seconds(), count(t.N))
		}
		said = append(said, text)
		if way := unmeasured(list[0], of[0].Info.Record.Database, runs); way != "" {
			besides = append(besides, fmt.Sprintf("%s has another way, %s, which was not measured", name, way))
		}
	}
	dead, what := "No death of an instance was", "A dead instance is"
	if kind == discovery.Election {
		dead, what = "No next leader was", "After the death of a leader the next one is"
	}
	if len(said) == 0 {
		return dead + " known to all consumers by the end of the load."
	}
	text := fmt.Sprintf("%s known to all %s consumers after %s.", what, count(consumers), strings.Join(said, ", "))
	if len(unknown) > 0 {
		text += " Not known by the end of the load: " + strings.Join(unknown, ", ") + "."
	}
	if len(besides) > 0 {
		text += " No loser is named: " + strings.Join(besides, "; ") + "."
	}
	return text
}
