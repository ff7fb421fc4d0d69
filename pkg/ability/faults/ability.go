package faults

import (
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Ability returns the declaration.
func Ability() ability.Ability {
	return ability.Ability{
		Name: "faults", More: []ability.Keys{Repeated(), Keys()}, Keys: Probed(), Record: Record(), Member: Upgraded(), Disturbed: disturbed,
		Start: func(v ability.Values, req *dbtesterpb.StartRequest) error {
			for _, f := range Keys().Of(v) {
				if f.Kind != Command && f.reaches(int(req.GetIndex())) {
					req.Faults = append(req.Faults, f.Message())
				}
			}
			return nil
		},
	}
}

// Keys declares the keys in an experiment file.
func Keys() ability.List[Fault] {
	return ability.List[Fault]{
		Key: "faults", Meaning: "member faults during the load, which the agents must allow: the [`faults` keys](#keys-of-faults)",
		Item: section, Resolved: resolve,
	}
}

// Record declares the entry for faults in the order in which they began.
func Record() ability.Record[[]Happened] { return ability.Record[[]Happened]{Key: "faults"} }

// Repeated declares the key for repeats.
func Repeated() ability.Section[Repeat] {
	return ability.Section[Repeat]{
		Key: "repeat", Meaning: "how often `faults` are applied: the [`repeat` keys](#keys-of-repeat)",
		Fields: repeatSection, Resolved: resolveRepeat, Shown: showRepeat,
	}
}

// Probed declares the key for the time between two probes to a member.
func Probed() ability.Single[time.Duration] {
	return ability.Single[time.Duration]{
		About: yamlfile.Row{Name: "probe", Usually: "20ms with `faults`", Meaning: "time between two probes to each member during a load with `faults`. Probes are writes over separate connections, sent whatever is pending, with at most 50 in flight. `0s` sends none"},
		Kind:  yamlfile.ShortDurationKind(),
		Resolved: func(r *yamlfile.Reader, is time.Duration, at *yamlfile.Node, _ *ability.Database, v ability.Values) time.Duration {
			switch {
			case len(Keys().Of(v)) == 0:
				return 0
			case at == nil:
				return defaultProbe
			case is > 0 && is < shortestProbe:
				r.Errorf(at, "probe must be at least %v, or 0s for none, got %v", shortestProbe, is)
			}
			return is
		},
		Shown: func(is time.Duration) bool { return is != 0 },
	}
}

// resolve resolves the faults for a database under its load.
func resolve(r *yamlfile.Reader, items []yamlfile.Written[Fault], d *ability.Database, v ability.Values) (list []Fault) {
	c := checker{r, d, Repeated().Of(v), items}
	if len(items) == 0 {
		return nil
	}
	c.cluster(items[0].Node)
	for i := range items {
		items[i].Is.Place = r.Place(items[i].Node)
		c.one(&items[i])
		list = append(list, items[i].Is)
	}
	c.overlaps()
	c.fits()
	c.upgrades()
	return list
}

// disturbed returns the time from each fault in a run to its recovery, or nil if this release
// cannot read the faults.
func disturbed(records results.Records) []results.Stretch {
	list, err := Record().Of(records)
	if err != nil {
		return nil
	}
	return Cut(list)
}

const (
	defaultProbe  = 20 * time.Millisecond
	shortestProbe = time.Millisecond
)
