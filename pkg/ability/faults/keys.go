package faults

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// most bounds the faults in a run: times x faults x members.
const most = 10_000

// section declares the keys for a fault.
func section() yamlfile.Section[Fault] {
	meaning := "what is done"
	for _, k := range fault.Kinds() {
		meaning += "; `" + k.Name + "`: " + k.Meaning
	}
	meaning += "; `" + Command + "`: " + commandMeaning
	return yamlfile.Section[Fault]{Fields: append([]yamlfile.Field[Fault]{
		yamlfile.Key[Fault, string]{Row: yamlfile.Row{Name: "kind", Meaning: meaning},
			Kind: yamlfile.WordKind(append(fault.Names(), Command)...), At: func(f *Fault) *string { return &f.Kind }}.Field(),
		yamlfile.Key[Fault, string]{Row: yamlfile.Row{Name: "member", Preset: Leader, Meaning: "`leader`, `follower` (the first that does not lead), `each` in turn, or a number from 1; several at the same time: `all`, `minority` (the largest minority, leader included) or `followers` (equally many that do not lead). Just before, members are asked who leads"},
			Kind: yamlfile.FilledKind(), At: func(f *Fault) *string { return &f.Member }, Shown: func(f *Fault) bool { return f.Kind != Command }}.Field(),
		yamlfile.Key[Fault, time.Duration]{Row: yamlfile.Row{Name: "at", Meaning: "when it is applied, counted from the load's first request; must be after `warm_up`"},
			Kind: yamlfile.DurationKind(), At: func(f *Fault) *time.Duration { return &f.At }}.Field(),
		yamlfile.Key[Fault, time.Duration]{Row: yamlfile.Row{Name: "for", Meaning: "how long it lasts; not for `restart`. A command is undone then"},
			Kind: yamlfile.DurationKind(), At: func(f *Fault) *time.Duration { return &f.For }, Shown: func(f *Fault) bool { return f.For > 0 }}.Field(),
		yamlfile.Key[Fault, string]{Row: yamlfile.Row{Name: "fsync", Meaning: "for `disk`: a time by which each call takes longer, `stall` (calls are held until the fault is over), `EIO` or `ENOSPC`"},
			Kind: yamlfile.FilledKind(), At: func(f *Fault) *string { return &f.Fsync }, Shown: func(f *Fault) bool { return f.Fsync != "" }}.Field(),
		yamlfile.Key[Fault, bool]{Row: yamlfile.Row{Name: "full", Preset: "false", Meaning: "for `disk`: whether the member's own disk has no space left"},
			Kind: yamlfile.TruthKind(), At: func(f *Fault) *bool { return &f.Full }, Shown: func(f *Fault) bool { return f.Full }}.Field(),
		yamlfile.Key[Fault, string]{Row: yamlfile.Row{Name: "from", Usually: "members", Meaning: "for `partition`, `loss` and `delay`: whose packets, `members` (the ports for other members), `clients` (the port for clients) or `all`"},
			Kind: yamlfile.WordKind(fault.Origins()...), At: func(f *Fault) *string { return &f.From }, Shown: func(f *Fault) bool { return f.From != "" }}.Field(),
		yamlfile.Key[Fault, string]{Row: yamlfile.Row{Name: "direction", Usually: "both", Meaning: "for `partition`, `loss` and `delay`: which packets, `in` (to the member), `out` (from it) or `both`"},
			Kind: yamlfile.WordKind(fault.Directions()...), At: func(f *Fault) *string { return &f.Direction }, Shown: func(f *Fault) bool { return f.Direction != "" }}.Field(),
		yamlfile.Key[Fault, string]{Row: yamlfile.Row{Name: "loss", Meaning: "for `loss` and `delay`: the share of these packets that is dropped, such as `5%`"},
			Kind: yamlfile.FilledKind(), At: func(f *Fault) *string { return &f.Loss }, Shown: func(f *Fault) bool { return f.Loss != "" }}.Field(),
		yamlfile.Key[Fault, string]{Row: yamlfile.Row{Name: "by", Meaning: "for `delay`: how much later these packets arrive, up to `10s`"},
			Kind: yamlfile.FilledKind(), At: func(f *Fault) *string { return &f.By }, Shown: func(f *Fault) bool { return f.By != "" }}.Field(),
		yamlfile.Key[Fault, string]{Row: yamlfile.Row{Name: "rate", Meaning: "for `delay`: the bandwidth that these packets share, such as `10Mbit`"},
			Kind: yamlfile.FilledKind(), At: func(f *Fault) *string { return &f.Rate }, Shown: func(f *Fault) bool { return f.Rate != "" }}.Field(),
		yamlfile.Key[Fault, string]{Row: yamlfile.Row{Name: "version", Usually: "the one before", Meaning: "for `restart`: the release that members start with, which must be later and have the same minor version or the next; with `member: each`, a rolling upgrade. Agents get it before the load, like the database's own release"},
			Kind: yamlfile.FilledKind(), At: func(f *Fault) *string { return &f.Version }, Shown: func(f *Fault) bool { return f.Version != "" }}.Field(),
		yamlfile.Key[Fault, time.Duration]{Row: yamlfile.Row{Name: "gap", Preset: "10s", Meaning: "with `member: each`: the time between one member's fault and the next member's"},
			Kind: yamlfile.DurationKind(), At: func(f *Fault) *time.Duration { return &f.Gap }, Shown: func(f *Fault) bool { return f.Member == Each }}.Field(),
		yamlfile.Key[Fault, bool]{Row: yamlfile.Row{Name: "overlap", Preset: "false", Meaning: "whether it may overlap with other faults"},
			Kind: yamlfile.TruthKind(), At: func(f *Fault) *bool { return &f.Overlap }, Shown: func(f *Fault) bool { return f.Overlap }}.Field(),
	}, commandFields()...)}
}

// repeatSection declares the keys under repeat.
func repeatSection() yamlfile.Section[Repeat] {
	return yamlfile.Section[Repeat]{Fields: []yamlfile.Field[Repeat]{
		yamlfile.Key[Repeat, int]{Row: yamlfile.Row{Name: "times", Meaning: "how many times. Repeats in one cluster say nothing about other clusters: give `trials` too"},
			Kind: yamlfile.SmallKind(), At: func(p *Repeat) *int { return &p.Times }}.Field(),
		yamlfile.Key[Repeat, time.Duration]{Row: yamlfile.Row{Name: "every", Meaning: "the time from the start of one repeat to the next; with `until` the minimum, which may be left out"},
			Kind: yamlfile.DurationKind(), At: func(p *Repeat) *time.Duration { return &p.Every }, Shown: func(p *Repeat) bool { return p.Every > 0 || p.Until == "" }}.Field(),
		yamlfile.Key[Repeat, string]{Row: yamlfile.Row{Name: "until", Meaning: "`recovered`: a repeat, and each fault in it that does not overlap with an earlier one, begins only after the load has recovered. Repeats for which no time is left are skipped, which is a mark"},
			Kind: yamlfile.WordKind(Recovered), At: func(p *Repeat) *string { return &p.Until }, Shown: func(p *Repeat) bool { return p.Until != "" }}.Field(),
		yamlfile.Key[Repeat, time.Duration]{Row: yamlfile.Row{Name: "jitter", Preset: "0s", Meaning: "each repeat is delayed by up to this time, as the seed decides"},
			Kind: yamlfile.DurationKind(), At: func(p *Repeat) *time.Duration { return &p.Jitter }, Shown: func(p *Repeat) bool { return p.Jitter > 0 }}.Field(),
	}}
}

// resolveRepeat resolves the repeats for a database.
func resolveRepeat(r *yamlfile.Reader, own, all yamlfile.Written[Repeat], _ *ability.Database) Repeat {
	w := repeatSection().Over(own, all)
	if at := cmp.Or(own.Node, all.Node); at != nil {
		switch {
		case w.Is.Times < 1:
			r.Errorf(at, "repeat: times must be at least 1")
		case w.Is.Times > 1 && w.Is.Every <= 0 && !w.Has("until"):
			r.Errorf(at, "repeat: every must be positive, or until: %s be given", Recovered)
		}
	}
	return w.Is
}

func showRepeat(is Repeat, _ workload.Load) *yamlfile.Node {
	if is == (Repeat{}) {
		return nil
	}
	return repeatSection().Show(&is).Flow()
}

// cluster refuses clusters and loads that do not allow faults.
func (c checker) cluster(at *yamlfile.Node) {
	switch d := c.d; {
	case d.Running && slices.ContainsFunc(c.items, func(w yamlfile.Written[Fault]) bool { return w.Is.Kind != Command }):
		c.Errorf(at, "faults: the cluster of endpoints runs without agents, which apply all faults but %s", Command)
	case d.Search != nil:
		c.Errorf(at, "faults do not go with %s: a search judges windows without them", d.Search.Key)
	case !d.Load.Rated() && d.Load.Timeout <= 0:
		c.Errorf(at, "faults in a closed loop need load: {timeout: ...}: clients of a member that does not answer would wait for ever")
	}
}

// one checks one fault by itself.
func (c checker) one(w *yamlfile.Written[Fault]) {
	if w.Is.Kind == Command {
		c.command(w)
		return
	}
	f := &w.Is
	for _, key := range []string{"run", "undo"} {
		if w.Has(key) && f.Kind != "" {
			c.Errorf(w.NodeOf(key), "%s has no %s", f.Kind, key)
		}
	}
	k, err := fault.Find(f.Kind)
	_, wrong := fault.Check(fault.Record{Kind: f.Kind, Parameters: f.Parameters().Encoded(), For: f.For})
	at := func(key string) *yamlfile.Node { return cmp.Or(w.NodeOf(key), w.Node) }
	switch n, notNumber := strconv.Atoi(f.Member); {
	case f.Kind == "" || err != nil:
		if !yamlfile.HasKey(w.Node, "kind") { // otherwise the reader reports the word
			c.Errorf(w.Node, "a fault needs a kind: %s", strings.Join(append(fault.Names(), Command), ", "))
		}
	case k.Immediate && f.For > 0:
		c.Errorf(at("for"), "%s takes as long as it takes: it has no for", f.Kind)
	case !k.Immediate && f.For <= 0:
		c.Errorf(at("for"), "%s needs for: how long it lasts", f.Kind)
	case wrong != nil:
		key := ""
		if p := (*fault.ParameterError)(nil); errors.As(wrong, &p) {
			key = p.Key
		}
		c.Errorf(at(key), "%v", wrong)
	case f.At <= c.d.Load.WarmUp:
		c.Errorf(at("at"), "at must be behind the warm-up of %v, to compare with the load before, got %v", c.d.Load.WarmUp, f.At)
	case notNumber == nil && (n < 1 || n > c.d.Members):
		c.Errorf(at("member"), "member must be from 1 to %d, got %d", c.d.Members, n)
	case notNumber != nil && !slices.Contains([]string{Leader, Follower, Each, All, Minority, Followers}, f.Member):
		c.Errorf(at("member"), "member must be leader, follower, each, all, minority, followers or a number from 1, got %q", f.Member)
	case f.Member == Follower && c.d.Members < 2:
		c.Errorf(at("member"), "member: follower needs more than one member")
	case (f.Member == Minority || f.Member == Followers) && c.d.Members < 3:
		c.Errorf(at("member"), "member: %s needs three members", f.Member)
	case f.Member == Leader || f.Member == Follower || f.Member == Minority || f.Member == Followers:
		driver, known := c.d.Options.(database.Driver)
		if _, leads := driver.(database.Leader); known && !leads && c.d.Members > 1 {
			c.Errorf(at("member"), "member: %s: %s does not report who leads; give a number or each", f.Member, c.d.Name)
		}
	}
}

// lasts returns the planned duration for all members of a fault together.
func (c checker) lasts(f Fault) time.Duration { return f.Lasts(c.d.Members) }

// overlaps refuses faults that overlap, unless one of them may. The leader changes, so two faults
// certainly affect different members only if both have a number.
func (c checker) overlaps() {
	for i, w := range c.items {
		for _, o := range c.items[:i] {
			a, b := o.Is, w.Is
			_, one := strconv.Atoi(a.Member)
			_, other := strconv.Atoi(b.Member)
			apart := one == nil && other == nil && a.Member != b.Member
			if apart || a.Overlap || b.Overlap || a.At > b.At+c.lasts(b) || b.At > a.At+c.lasts(a) {
				continue
			}
			c.Errorf(w.Node, "the fault overlaps with that of %s; give it overlap: true if it may", o.Is.Place)
		}
	}
}

// fits refuses faults that are not over when the load ends, or when they begin again.
func (c checker) fits() {
	var load, last time.Duration
	for _, s := range c.d.Load.Stretches() {
		if s.Duration <= 0 {
			c.Errorf(c.items[0].Node, "faults need a load with a duration")
			return
		}
		load += s.Duration
	}
	times := max(c.repeat.Times, 1)
	if n := times * len(c.items) * max(c.d.Members, 1); n > most || times > most {
		c.Errorf(c.items[0].Node, "%d repeats of %d faults are more than %d", times, len(c.items), most)
		return
	}
	for _, w := range c.items {
		last = max(last, w.Is.At+c.lasts(w.Is))
	}
	every := c.repeat.Every
	if c.repeat.Until != "" {
		every = max(every, last) // at least
	}
	for _, w := range c.items {
		end := w.Is.At + c.lasts(w.Is)
		before := time.Duration(float64(every)*float64(times-1)) + c.repeat.Jitter
		if float64(end)+float64(every)*float64(times-1) > math.MaxInt64/2 || end+before > load {
			c.Errorf(w.Node, "the fault is over %v after the first request, repeats included, and the load ends after %v", end+before, load)
		}
	}
	if times > 1 && c.repeat.Until == "" && every > 0 && last+c.repeat.Jitter > every {
		c.Errorf(c.items[0].Node, "the faults last until %v after the first request, and begin again every %v", last+c.repeat.Jitter, c.repeat.Every)
	}
}

// command checks a fault that is a command.
func (c checker) command(w *yamlfile.Written[Fault]) {
	f := &w.Is
	at := func(key string) *yamlfile.Node { return cmp.Or(w.NodeOf(key), w.Node) }
	for _, field := range section().Fields {
		if key := field.Row.Name; w.Has(key) && !slices.Contains([]string{"kind", "at", "for", "overlap", "run", "undo"}, key) {
			c.Errorf(at(key), "a command has no %s: control runs it", key)
		}
	}
	f.Member, f.Gap = "", 0
	switch {
	case len(f.Run) == 0 || f.Run[0] == "":
		c.Errorf(at("run"), "a command needs run: a program and its arguments")
	case len(f.Undo) == 0 || f.Undo[0] == "":
		c.Errorf(at("undo"), "a command needs undo: a program and its arguments, or none if there is nothing to undo")
	case f.For <= 0:
		c.Errorf(at("for"), "command needs for: how long it lasts before it is undone, or disturbs if it is not")
	case f.At <= c.d.Load.WarmUp:
		c.Errorf(at("at"), "at must be behind the warm-up of %v, to compare with the load before, got %v", c.d.Load.WarmUp, f.At)
	}
}
