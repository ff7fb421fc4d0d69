// Package locks shows how fast locks changed hands between contenders, how fairly, and whether two
// ever held one at once.
package locks

import (
	"fmt"
	"strings"
	"time"

	humanize "github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/results"
)

// Half shows competition for locks in reports.
type Half struct{}

var (
	_ abilities.Tabler = Half{}
	_ abilities.Sayer  = Half{}
	_ abilities.Carder = Half{}
	_ abilities.Actor  = Half{}
	_ abilities.Drawer = Half{}
)

// Name is the experiment kind.
func (Half) Name() string { return "locks" }

// Acted reports whether contenders competed during the load.
func (Half) Acted(r *run.Run) bool { return outcome(r) != nil }

// outcome returns the record about locks; nil if no contenders competed.
func outcome(r *run.Run) *locks.Outcome {
	o, err := locks.Record().Of(r.Info.Record.Records)
	if err != nil || len(o.Stages) == 0 {
		return nil
	}
	return &o
}

// Rows returns rows about the speed, fairness and safety of locks.
func (Half) Rows() []abilities.Row {
	row := func(name, after, unit, definition string, of func(*locks.Outcome) (run.Measure, string)) abilities.Row {
		return abilities.Row{Name: name, Unit: unit, After: after, Definition: definition, Cell: cell(of)}
	}
	return []abilities.Row{
		row("LOCKS", "WRITES-MEANWHILE", "locks", "how often a lock was acquired in all stages, by which recipe, and with which TTL of the contenders' sessions", acquired),
		row("LOCK-HAND-OFF", "LOCKS", "ms", "time from the sending of a release to the next holder, while somebody waited and without stops of this client, by the number of contenders, in the mean and by percentile; the number is the mean of the fewest contenders, or the median in records of earlier releases, which have no mean", handOff),
		row("LOCK-ACQUISITIONS", "LOCK-HAND-OFF", "locks/s", "locks acquired per second, by the number of contenders, and how long each waited for it; the number is that of the fewest contenders", perSecond),
		row("LOCK-SHARES", "LOCK-ACQUISITIONS", "%", "share of the turns that the luckiest and the unluckiest contender had, beside an equal share, and Jain's index; the longest wait, also of those who got nothing by the end, in seconds and in turns of others; the number is the unluckiest contender's share, in equal shares, of the most contenders", shares),
		row("LOCK-ORDER", "LOCK-SHARES", "%", "whether contenders got a lock in the order of their places, or raced for it: the number is the part of the turns that overtook another contender whose place was confirmed before this one asked, of those turns of which that or its opposite is certain, for the most contenders; how many they overtook, in all and per such turn; and how often the releaser got the lock again while others waited, beside what chance gives", order),
		row("LOCKS-HELD-TWICE", "LOCK-ORDER", "locks", "locks acquired while another holder believed that it held the same one, on the clock of one process, and fences that were not greater than that of the holder before; either makes the run invalid", twice),
		row("LOCKS-BELIEVED-HELD", "LOCKS-HELD-TWICE", "locks", "locks that a holder believed to hold after its session had ended, because this client was stopped for longer than a session lasts, and those that were not held any more when they were given up", believed),
		row("LOCK-FAIL-OVER", "LOCKS-BELIEVED-HELD", "s", "time from the death of a holder, which says no goodbye, to the next holder, beside what the rule allows; the number is the median of the fewest contenders", failOver),
		row("WRITES-BESIDE-LOCKS", "LOCK-FAIL-OVER", "ms", "p99 of the requests of the load that ended ok in the whole seconds of each stage, beside that before the first; the number is that of the most contenders", meanwhile),
	}
}

// cell returns a function that formats a part of the record.
func cell(of func(*locks.Outcome) (run.Measure, string)) func(*run.Run) (run.Measure, string) {
	return func(r *run.Run) (run.Measure, string) {
		o, err := locks.Record().Of(r.Info.Record.Records)
		switch {
		case err != nil:
			return run.Missing("%v", err), ""
		case len(o.Stages) == 0:
			return run.Inapplicable("nobody competed for locks"), ""
		}
		return of(&o)
	}
}

// byStage joins the texts for all stages, and omits empty ones.
func byStage(o *locks.Outcome, of func(*locks.Stage) string) string {
	var parts []string
	for i := range o.Stages {
		if text := of(&o.Stages[i]); text != "" {
			parts = append(parts, fmt.Sprintf("with %s: %s", count(int64(o.Stages[i].Contenders)), text))
		}
	}
	return strings.Join(parts, "; ")
}

// contenders formats the contender count.
func contenders(s *locks.Stage) string { return english.Plural(s.Contenders, "contender", "") }

// fewest and most are the stages with the fewest and the most contenders about which something is
// known, or nil.
func fewest(o *locks.Outcome, known func(*locks.Stage) bool) (least *locks.Stage) {
	for i := range o.Stages {
		if s := &o.Stages[i]; known(s) && (least == nil || s.Contenders < least.Contenders) {
			least = s
		}
	}
	return least
}

func most(o *locks.Outcome, known func(*locks.Stage) bool) (largest *locks.Stage) {
	for i := range o.Stages {
		if s := &o.Stages[i]; known(s) && (largest == nil || s.Contenders > largest.Contenders) {
			largest = s
		}
	}
	return largest
}

// ms prints a time in milliseconds, with three digits or more.
func ms(ns int64) string {
	is := float64(ns) / 1e6
	switch {
	case is >= 99.95:
		return fmt.Sprintf("%.0f ms", is)
	case is >= 9.995:
		return fmt.Sprintf("%.1f ms", is)
	case is >= .9995:
		return fmt.Sprintf("%.2f ms", is)
	}
	return fmt.Sprintf("%.3f ms", is)
}

// percent prints a share.
func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// count prints a number.
func count(n int64) string { return humanize.Comma(n) }

// spread prints the percentiles that have enough times, the longest time, and the count.
func spread(s *results.Spread, text func(int64) string) string {
	if s == nil {
		return ""
	}
	var parts []string
	if s.Enough(.5) {
		parts = append(parts, "p50 "+text(s.P50))
	}
	if s.Enough(.99) {
		parts = append(parts, "p99 "+text(s.P99))
	}
	return strings.Join(append(parts, "longest "+text(s.Max)), ", ") + fmt.Sprintf(" (%s)", count(s.N))
}

// how is the recipe, its provider unless left out, and the time that a lock is kept back.
func how(o *locks.Outcome, by string) string {
	text := "recipe " + o.Plan.Recipe
	if by != "" {
		text += " by " + by
	}
	if o.Delayed != "" {
		text += fmt.Sprintf(", %s %v", o.Delayed, o.Plan.LockDelay)
	}
	return text
}

func acquired(o *locks.Outcome) (run.Measure, string) {
	n, full := int64(0), false
	for _, s := range o.Stages {
		n, full = n+s.Acquired, full || s.Full
	}
	text := fmt.Sprintf("%s; %s; %s, TTL %v", count(n), how(o, o.By), o.What, o.TTL)
	if o.TTL != o.Plan.TTL {
		text += fmt.Sprintf(" (asked %v)", o.Plan.TTL)
	}
	text += fmt.Sprintf("; held for %v", o.Plan.Hold)
	if s := fewest(o, func(s *locks.Stage) bool { return s.Held != nil && s.Held.Enough(.5) }); s != nil {
		text += fmt.Sprintf(" (median %s)", ms(s.Held.P50))
	}
	if o.Plan.Names > 1 {
		text += fmt.Sprintf("; %s names", count(int64(o.Plan.Names)))
	}
	if full {
		text += "; a stage ended early, without room for more turns"
	}
	return run.Counted(n), text
}

func handOff(o *locks.Outcome) (run.Measure, string) {
	first := fewest(o, handedOver)
	if first == nil {
		return run.Inapplicable("no lock was released while somebody waited"), ""
	}
	delayed := int64(0)
	text := byStage(o, func(s *locks.Stage) string {
		delayed += s.Delayed
		text := spread(s.HandOff, ms)
		if text != "" && s.HandOff.Mean > 0 {
			text = "mean " + ms(s.HandOff.Mean) + ", " + text
		}
		return text
	})
	if delayed > 0 {
		text += fmt.Sprintf("; %s of all without stops of this client of at most %v", count(delayed), o.LongestStop.Round(time.Millisecond))
	}
	return run.Measure{Value: float64(typicalOf([]*locks.Outcome{o}).of(first.HandOff)) / 1e6, N: first.HandOff.N}, text
}

func perSecond(o *locks.Outcome) (run.Measure, string) {
	first := fewest(o, func(*locks.Stage) bool { return true })
	text := byStage(o, func(s *locks.Stage) string {
		text := fmt.Sprintf("%.1f/s", s.PerSecond)
		if s.Wait != nil && s.Wait.Enough(.5) {
			text += ", waited p50 " + ms(s.Wait.P50)
		}
		if n := s.Refused + s.Unclear; n > 0 {
			text += fmt.Sprintf(", %s requests failed: %s", count(n), s.WhyRefused)
		}
		return text
	})
	return run.Measure{Value: first.PerSecond, N: first.Acquired}, text
}

func shares(o *locks.Outcome) (run.Measure, string) {
	last := most(o, func(s *locks.Stage) bool { return s.Acquired > 0 })
	if last == nil {
		return run.Inapplicable("no lock was acquired"), ""
	}
	text := byStage(o, func(s *locks.Stage) string {
		f := &s.Fairness
		return fmt.Sprintf("%s to %s (equal %s), Jain %.3f, longest wait %s, %s turn%s",
			percent(f.Most), percent(f.Fewest), percent(1/float64(s.Contenders)), f.Jain, seconds(f.LongestWithout), count(f.LongestTurns), run.Plural(int(f.LongestTurns)))
	})
	return run.Measure{Value: 100 * last.Fairness.Fewest * float64(last.Contenders), N: last.Acquired}, text
}

// seconds prints a time in seconds.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// orders prints the order in a stage.
func orders(f *locks.Fairness) string {
	text := fmt.Sprintf("%s (%s of %s overtook", f.Order, count(f.Overtook), count(f.Decided))
	if f.Overtakes > 0 {
		text += fmt.Sprintf(" %s, %.2f a turn", count(f.Overtakes), float64(f.Overtakes)/float64(f.Decided))
	}
	text += ")"
	if f.Chances > 0 {
		text += fmt.Sprintf(", releaser again %s of %s (by chance %s)", count(f.Again), count(f.Chances), percent(f.ByChance))
	}
	return text
}

func order(o *locks.Outcome) (run.Measure, string) {
	last := most(o, func(s *locks.Stage) bool { return s.Fairness.Decided > 0 })
	if last == nil {
		return run.Inapplicable("of no turn it is certain who asked first"), ""
	}
	text := byStage(o, func(s *locks.Stage) string {
		if s.Fairness.Decided == 0 {
			return ""
		}
		return orders(&s.Fairness)
	})
	by := locks.Race
	if o.Queue {
		by = locks.Queue
	}
	text += "; by its recipe a " + string(by)
	if last.Fairness.Assumed {
		text += ", which reports no places"
	}
	return run.Measure{Value: 100 * float64(last.Fairness.Overtook) / float64(last.Fairness.Decided), N: last.Fairness.Decided}, text
}

func twice(o *locks.Outcome) (run.Measure, string) {
	sum, n := o.Safety()
	return run.Measure{Value: float64(sum.Overlaps), N: n},
		fmt.Sprintf("%s of %s; %s fences out of order; a fence is %s", count(sum.Overlaps), count(n), count(sum.Disorder), o.Fence)
}

func believed(o *locks.Outcome) (run.Measure, string) {
	sum, n := o.Safety()
	text := fmt.Sprintf("%s of %s", count(sum.Believed), count(n))
	if sum.LongestBelieved > 0 {
		text += fmt.Sprintf(", for at most %s", seconds(sum.LongestBelieved))
	}
	text += fmt.Sprintf("; %s not held when given up", count(sum.Lost))
	if o.Stops > 0 {
		text += fmt.Sprintf("; %s stops of this client of at most %v", count(o.Stops), o.LongestStop.Round(time.Millisecond))
	}
	return run.Measure{Value: float64(sum.Believed), N: n}, text
}

func failOver(o *locks.Outcome) (run.Measure, string) {
	first := fewest(o, func(s *locks.Stage) bool { return s.FailOver.Passed != nil })
	if first == nil {
		return run.Inapplicable("no holder died"), ""
	}
	text := byStage(o, func(s *locks.Stage) string {
		text := spread(s.FailOver.Passed, longer)
		if n := s.FailOver.NotTaken; n > 0 {
			text += fmt.Sprintf(", %s not taken by the end", count(n))
		}
		if n := s.FailOver.Early; n > 0 {
			text += fmt.Sprintf(", %s early", count(n))
		}
		return text
	})
	return run.Measure{Value: float64(first.FailOver.Passed.P50) / 1e9, N: first.FailOver.Passed.N}, text + "; " + rule(o)
}

// longer prints a time in seconds.
func longer(ns int64) string { return seconds(time.Duration(ns)) }

// rule is when a lock passes after its holder dies.
func rule(o *locks.Outcome) string {
	text := fmt.Sprintf("a session ends %s", o.Rule)
	if o.Plan.LockDelay > 0 {
		text += fmt.Sprintf(", then %s of %v", o.Delayed, o.Plan.LockDelay)
	}
	return text + fmt.Sprintf(": %v to %v after the death", o.Earliest.Round(time.Millisecond), o.Latest.Round(time.Millisecond))
}

func meanwhile(o *locks.Outcome) (run.Measure, string) {
	last := most(o, func(s *locks.Stage) bool { return s.Meanwhile != nil })
	if last == nil || o.Before == nil {
		return run.Inapplicable("no requests ended ok both before the stages and in one"), ""
	}
	text := byStage(o, func(s *locks.Stage) string {
		if s.Meanwhile == nil {
			return ""
		}
		return fmt.Sprintf("p99 %s in %d s", ms(int64(s.Meanwhile.P99)), s.Meanwhile.Seconds)
	})
	return run.Measure{Value: float64(last.Meanwhile.P99) / 1e6, N: last.Meanwhile.Requests}, text + fmt.Sprintf("; before %s in %d s", ms(int64(o.Before.P99)), o.Before.Seconds)
}
