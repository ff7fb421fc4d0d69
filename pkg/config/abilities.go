package config

import (
	"slices"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/all"
	"github.com/coreos/dbtester/pkg/files/openjson"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// eachAbilities are the abilities with keys in each database, wholeAbilities those with keys only
// for the whole file, without the searches.
func eachAbilities() []ability.Ability {
	return slices.DeleteFunc(all.Abilities(), func(a ability.Ability) bool { return a.Whole })
}

func wholeAbilities() []ability.Ability {
	return slices.DeleteFunc(all.Abilities(), func(a ability.Ability) bool { return !a.Whole || a.Search != nil })
}

// searches are the abilities that search for load rates.
func searches() []ability.Ability {
	return slices.DeleteFunc(all.Abilities(), func(a ability.Ability) bool { return a.Search == nil })
}

// Search returns the search for load rates, or nil.
func (e *Experiment) Search() *ability.Search {
	for _, a := range searches() {
		if a.Search.Asked(e.Abilities) {
			return a.Search
		}
	}
	return nil
}

// overFlags lays texts from a command line over values in a file.
func (r *reader) overFlags(f *fileSpec) {
	for _, keys := range keysOf(all.Abilities()) {
		name := keys.Row(false).Name
		texts := r.variant.Flags[name]
		if flagged, ok := keys.(ability.Flagged); ok && texts != nil {
			f.given = f.given.with(name, flagged.Over(r.Reader, f.given[name], texts))
		}
	}
}

// keysOf returns ability keys in the order in which they are resolved.
func keysOf(list []ability.Ability) (keys []ability.Keys) {
	for _, a := range list {
		keys = append(append(keys, a.More...), a.Keys)
	}
	return keys
}

// abilitiesOfFile returns ability keys at the top of a file.
func abilitiesOfFile(f *fileSpec) *given { return &f.given }

// abilityFields declares ability keys, in a database or at the top of a file.
func abilityFields[S any](list []ability.Ability, database bool, at func(*S) *given, show func(ability.Keys, *S) *yamlfile.Node) (fields []field[S]) {
	for _, keys := range keysOf(list) {
		f := field[S]{Row: keys.Row(database), Schema: keys.Schema}
		set := func(to *S, is any) { *at(to) = at(to).with(f.Name, is) }
		f.Copy = func(to, from *S) { set(to, (*at(from))[f.Name]) }
		f.Read = func(r *yamlfile.Reader, path, key string, node *yamlfile.Node, w *written[S]) bool {
			set(&w.Is, keys.Read(r, path, key, node))
			return true
		}
		if show != nil {
			f.Node = func(s *S) *yamlfile.Node { return show(keys, s) }
		}
		fields = append(fields, f)
	}
	return fields
}

// showAbility shows what an ability does for a database.
func showAbility(keys ability.Keys, d *databaseSpec) *yamlfile.Node {
	return keys.Show(d.Abilities, d.Load)
}

// showWhole shows what an ability does for every database.
func showWhole(keys ability.Keys, f *fileSpec) *yamlfile.Node {
	return keys.Show(f.Abilities, workload.Load{})
}

// abilities resolves what each ability does for a database under its load.
func (r *databaseResolver) abilities(d *Database) {
	about := &ability.Database{
		ID: d.ID, Name: d.Name, Version: d.Version, Embedded: r.spec.entry.Info.Embedded, Binary: d.Binary, Options: d.Options, Info: r.spec.entry.Info, Load: d.Load, Running: len(d.Endpoints) > 0, Reuse: d.Reuse, Members: len(d.Hosts),
		Secret: d.TLS != nil && d.Auth != nil, Classic: r.file.Classic, Search: r.file.Search(), Generators: len(r.file.generators),
		Node: r.db.NodeOf, OptionAt: r.optionAt,
	}
	for _, keys := range keysOf(eachAbilities()) {
		name := keys.Row(true).Name
		d.Abilities = keys.Resolve(r.Reader, r.spec.given[name], r.file.given[name], about, d.Abilities)
	}
}

// wholeAbilities resolves what abilities do equally for every database.
func (r *reader) wholeAbilities(f *fileSpec) {
	for _, keys := range keysOf(slices.Concat(searches(), wholeAbilities())) {
		f.Abilities = keys.Resolve(r.Reader, nil, f.given[keys.Row(false).Name], nil, f.Abilities)
	}
}

// MarshalJSON encodes a database with its ability values.
func (d Database) MarshalJSON() ([]byte, error) {
	type plain Database
	others, err := d.Abilities.Others()
	if err != nil {
		return nil, err
	}
	return openjson.Marshal(plain(d), others)
}

// MarshalJSON encodes an experiment with the ability values for every database.
func (e Experiment) MarshalJSON() ([]byte, error) {
	type plain Experiment
	others, err := e.Abilities.Others()
	if err != nil {
		return nil, err
	}
	return openjson.Marshal(plain(e), others)
}
