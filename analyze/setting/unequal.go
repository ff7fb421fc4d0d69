package setting

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
)

// Unequal lists the settings in which runs differ, and the caller's facts: "fsync: A: every write;
// B: none". A setting that acted in no run is left out. names maps run tags to column names.
func Unequal(runs []*run.Run, names map[string]string, facts ...Aspect) (list []string) {
	var one, all []Aspect
	for _, a := range slices.Concat(aspects(), facts, keys(runs)) {
		if a.sameDatabase {
			one = append(one, a)
		} else {
			all = append(all, a)
		}
	}
	list = differing(runs, all, names)
	for _, group := range byDatabase(runs) {
		list = append(list, differing(group, one, names)...)
	}
	for _, name := range run.OptionNames(runs) {
		if !strings.EqualFold(name, run.OptionTransport) {
			list = append(list, differing(runs, []Aspect{{Name: "option " + name, Of: func(r *run.Run) string { return r.Info.Options()[name] }}}, names)...)
		}
	}
	return list
}

// keys returns the declared keys that no other aspect shows.
func keys(runs []*run.Run) (list []Aspect) {
	covered := slices.Collect(maps.Keys(Unlisted()))
	for _, a := range aspects() {
		covered = append(covered, a.covers...)
	}
	all := map[*run.Run]*keyValues{}
	zeros := map[string]string{}
	for _, r := range runs {
		all[r] = declaredBy(r)
		for path, v := range all[r].values {
			if !below(path, covered) {
				zeros[path] = v.zero
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(zeros)) {
		if !slices.ContainsFunc(runs, func(r *run.Run) bool { return acted(path, r) }) {
			continue
		}
		list = append(list, Aspect{Name: path, sameDatabase: below(path, ofOneDatabase()), Of: func(r *run.Run) string {
			v, given := all[r].values[path]
			switch {
			case given:
				return cmp.Or(v.text, v.zero)
			case all[r].shows(path):
				return zeros[path]
			}
			return ""
		}})
	}
	return list
}

// byDatabase groups runs by their database, in their order.
func byDatabase(runs []*run.Run) (groups [][]*run.Run) {
	for _, r := range runs {
		at := slices.IndexFunc(groups, func(g []*run.Run) bool { return g[0].Info.Record.Database == r.Info.Record.Database })
		if at < 0 {
			groups = append(groups, []*run.Run{r})
			continue
		}
		groups[at] = append(groups[at], r)
	}
	return groups
}

// differing lists the aspects in which runs differ, with the values in each run.
func differing(runs []*run.Run, list []Aspect, names map[string]string) (notes []string) {
	for _, a := range list {
		var values []string
		tags := map[string][]string{}
		for _, r := range runs {
			v := a.Of(r)
			if v == "" {
				continue
			}
			if tags[v] == nil {
				values = append(values, v)
			}
			tags[v] = append(tags[v], cmp.Or(names[r.Info.Tag], r.Info.Tag))
		}
		if len(values) < 2 {
			continue
		}
		for i, v := range values {
			values[i] = strings.Join(run.Distinct(tags[v]), ", ") + ": " + short(v)
		}
		notes = append(notes, a.Name+": "+strings.Join(values, "; "))
	}
	return notes
}

// longest bounds the characters of a value in a text.
const longest = 100

func short(v string) string {
	if letters := []rune(v); len(letters) > longest {
		return fmt.Sprintf("%s... (%d characters)", string(letters[:longest]), len(letters))
	}
	return v
}
