package answers

import (
	"slices"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/setting"
)

// setsOf divides the columns into sets, keeping their order. A setting missing from the records of
// a column does not separate it from any set.
func setsOf(columns []Column) (sets []set) {
	for i, c := range columns {
		at := slices.IndexFunc(sets, func(s set) bool { return len(setting.Unlike(columns[s.columns[0]].Runs[0], c.Runs[0])) == 0 })
		if at < 0 {
			at = len(sets)
			sets = append(sets, set{deciding: setting.Deciding(c.Runs[0])})
		}
		sets[at].columns = append(sets[at].columns, i)
	}
	return sets
}

// varied names the settings that differ among the sets.
func (s *screen) varied() (list []string) {
	values := map[string][]string{}
	var order []string
	for _, one := range s.sets {
		for _, d := range one.deciding {
			if values[d.Name] == nil {
				order = append(order, d.Name)
			}
			values[d.Name] = append(values[d.Name], d.Value)
		}
	}
	for _, name := range order {
		if len(run.Distinct(values[name])) > 1 {
			list = append(list, name)
		}
	}
	return list
}

// differs reports whether the columns differ in a setting that decides a comparison.
func (s *screen) differs() bool { return len(s.sets) > 1 }
