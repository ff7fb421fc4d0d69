package answers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/setting"
)

// sayVaried states how the setting that was varied on purpose affected each store. Columns that
// agree in all deciding settings are compared.
func (s *screen) sayVaried() string {
	var text string
	if scale, ok := s.scale(); ok {
		text = s.effects(scale)
	} else {
		text = s.facts()
	}
	for _, one := range s.sets {
		order := s.told(one.columns, func(c Claim) string {
			return fmt.Sprintf("%s answered %s %s", c.Ahead, times(c.Ratio, "many as"), c.Behind)
		})
		if order != "" {
			text += "; " + order
		}
	}
	return text
}

// scale is a numeric setting, if it is the only one that was varied.
type scale struct {
	// of returns the size of a run; text formats it.
	of   func(*run.Run) float64
	text func(float64) string
}

// scale returns the only setting that differs, if its values are sizes and some store has several.
func (s *screen) scale() (scale, bool) {
	varied := s.varied()
	if len(varied) != 1 {
		return scale{}, false
	}
	var found scale
	switch varied[0] {
	case setting.Data:
		found = scale{dataBytes, dataText}
	case setting.Members:
		found = scale{func(r *run.Run) float64 { return float64(len(r.Info.Record.Members)) }, func(v float64) string {
			return fmt.Sprintf("with %.0f member%s", v, run.Plural(int(v)))
		}}
	default:
		return scale{}, false
	}
	return found, len(s.stores()) < len(s.columns)
}

// dataBytes is the size of the keys and values written before the load.
func dataBytes(r *run.Run) float64 {
	l := r.Info.Record.Load
	return float64(max(l.Preload, l.Keys)) * (float64(l.KeySize) + l.MeanValueSize())
}

func dataText(v float64) string {
	if v == 0 {
		return "an empty store"
	}
	return "with " + run.HumanSize(v) + " stored"
}

// store is a database in the report, at all values that the varied setting has.
type store struct {
	name    string
	columns []int
}

// stores groups the columns by database, version and user label.
func (s *screen) stores() (list []store) {
	for i, c := range s.columns {
		r := c.Runs[0]
		name := strings.TrimSpace(r.Info.Label + " " + r.Info.Record.Database)
		if versions := run.Distinct(r.Info.Versions()); len(versions) == 1 && s.severalVersions(r.Info.Record.Database) {
			name += " " + versions[0]
		}
		at := slices.IndexFunc(list, func(o store) bool { return o.name == name })
		if at < 0 {
			at = len(list)
			list = append(list, store{name: name})
		}
		list[at].columns = append(list[at].columns, i)
	}
	return list
}

// severalVersions reports whether several versions of a database ran.
func (s *screen) severalVersions(database string) bool {
	var versions []string
	for _, c := range s.columns {
		if r := c.Runs[0]; r.Info.Record.Database == database {
			versions = append(versions, strings.Join(run.Distinct(r.Info.Versions()), ", "))
		}
	}
	return len(run.Distinct(versions)) > 1
}

// effects states how each store's throughput changed from the smallest size to the others.
func (s *screen) effects(by scale) string {
	sizes := []float64{}
	for _, c := range s.columns {
		if v := by.of(c.Runs[0]); !slices.Contains(sizes, v) {
			sizes = append(sizes, v)
		}
	}
	slices.Sort(sizes)
	base := map[string]int{}
	for _, one := range s.stores() {
		base[one.name] = slices.MinFunc(one.columns, func(a, b int) int {
			return cmp.Compare(by.of(s.columns[a].Runs[0]), by.of(s.columns[b].Runs[0]))
		})
	}
	var sentences []string
	for _, size := range sizes[1:] {
		var parts []string
		for _, one := range s.stores() {
			from := s.columns[base[one.name]]
			for _, i := range one.columns {
				c := s.columns[i]
				if by.of(c.Runs[0]) != size || i == base[one.name] {
					continue
				}
				part := one.name
				if len(parts) == 0 {
					part += " answered"
				}
				parts = append(parts, fmt.Sprintf("%s %s (%s/s)", part, change(s.value(c)/s.value(from), "more", "less", "many"), s.textOf(c)))
			}
		}
		if len(parts) > 0 {
			sentences = append(sentences, by.text(size)+" "+names(parts))
		}
	}
	return capital(strings.Join(sentences, "; ")) + ", each compared with " + strings.TrimPrefix(by.text(sizes[0]), "with ")
}

// facts states the value in every column, and names the requests if they differ.
func (s *screen) facts() string {
	var parts []string
	for i, c := range s.columns {
		what := requestsOf(c.Runs[0])
		text := fmt.Sprintf("%s %s", c.Name, s.textOf(c))
		switch {
		case i == 0:
			text = fmt.Sprintf("%s answered %s %s a second", c.Name, s.textOf(c), what)
		case what != requestsOf(s.columns[i-1].Runs[0]):
			text += " " + what
		}
		parts = append(parts, text)
	}
	return names(parts) + "; they differ in " + names(s.varied()) + ", so they are not ranked"
}
