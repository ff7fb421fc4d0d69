package config

import (
	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/all"
	"github.com/coreos/dbtester/pkg/files/openjson"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// given are the keys of abilities that a mapping gives, as [ability.Keys] read them.
type given map[string]any

// abilityFields declares the keys of abilities, in a database or at the top of a file.
func abilityFields[S any](database bool, at func(*S) *given, show func(ability.Keys, *S) *yamlfile.Node) (fields []field[S]) {
	for _, a := range all.Abilities() {
		keys := a.Keys
		f := field[S]{Row: keys.Row(database), Schema: keys.Schema}
		set := func(to *S, is any) {
			own := given{f.Name: is} // others may have the map too
			for name, other := range *at(to) {
				if name != f.Name {
					own[name] = other
				}
			}
			*at(to) = own
		}
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

// abilityTables documents the keys of abilities.
func abilityTables() (tables []Table) {
	for _, a := range all.Abilities() {
		tables = append(tables, Table{"Keys of " + a.Keys.Row(false).Name, a.Keys.Table()})
	}
	return tables
}

// abilities resolves what each ability does for a database under its load.
func (r *databaseResolver) abilities(d *Database) {
	about := &ability.Database{
		ID: d.ID, Name: d.Name, Version: d.Version, Options: d.Options, Load: d.Load, Running: len(d.Endpoints) > 0,
		Secret: d.TLS != nil && d.Auth != nil, Classic: r.file.Classic, Searched: r.file.Capacity != nil,
	}
	for _, a := range all.Abilities() {
		name := a.Keys.Row(true).Name
		d.Abilities = a.Keys.Resolve(r.Reader, r.spec.abilities[name], r.file.abilities[name], about, d.Abilities)
	}
}

// MarshalJSON encodes a database with the values of its abilities.
func (d Database) MarshalJSON() ([]byte, error) {
	type plain Database
	others, err := d.Abilities.Others()
	if err != nil {
		return nil, err
	}
	return openjson.Marshal(plain(d), others)
}
