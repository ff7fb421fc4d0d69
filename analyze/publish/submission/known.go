package submission

import (
	"reflect"
	"strings"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/all"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
)

// vocabulary holds the field names in manifests and events by this version, and the fields whose
// objects are maps. In maps, names are data.
type vocabulary struct{ fields, named map[string]bool }

func newVocabulary() vocabulary {
	v := vocabulary{fields: map[string]bool{}, named: map[string]bool{}}
	seen := map[reflect.Type]bool{}
	v.add(reflect.TypeFor[results.Manifest](), seen)
	v.add(reflect.TypeFor[results.Event](), seen)
	v.fields[ability.Observed().Name()] = true
	v.add(reflect.TypeFor[observation.Total](), seen)
	for _, a := range all.Abilities() {
		v.addRecord(a, seen)
	}
	for _, name := range strings.Fields("first_key key_size_bytes value_size_bytes value_size_max_bytes read_mode") { // as results.Load writes them
		v.fields[name] = true
	}
	return v
}

// addRecord adds the names in the record of an ability.
func (v vocabulary) addRecord(a ability.Ability, seen map[reflect.Type]bool) {
	for _, r := range []ability.Recorded{a.Record, a.Member} {
		if r != nil {
			v.fields[r.Name()] = true
			v.add(r.Type(), seen)
		}
	}
	for _, g := range a.Observes {
		v.fields[g.Name] = true
		for _, value := range g.Values {
			v.fields[value.Name] = true
		}
	}
}

// add adds the names in a type and in the types that it contains.
func (v vocabulary) add(of reflect.Type, seen map[reflect.Type]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		v.add(of.Elem(), seen)
	case reflect.Struct:
		if seen[of] {
			return
		}
		seen[of] = true
		for _, field := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case name == "" && field.Anonymous: // its name may hide one of its own fields
				v.add(field.Type, seen)
				continue
			case name == "-" || !field.IsExported():
				continue
			}
			if name == "" {
				name = field.Name
			}
			v.fields[name] = true
			if isMap(field.Type) {
				v.named[name] = true
			}
			v.add(field.Type, seen)
		}
	}
}

// isMap reports whether a type is a map, or a list of maps.
func isMap(of reflect.Type) bool {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Array {
		of = of.Elem()
	}
	return of.Kind() == reflect.Map
}
