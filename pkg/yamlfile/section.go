package yamlfile

import "maps"

// Section declares a mapping that fills an S: its keys, in the order in which they are shown.
type Section[S any] struct {
	Fields []Field[S]
	// Check reports values that do not match one another. It may be nil.
	Check func(r *Reader, w *Written[S])
}

// Field is one declared key of a section. Reading it, its default, overlaying one mapping on
// another, showing it, the JSON Schema and the tables in the documentation are derived from it.
// [Key] and [Part] make fields.
type Field[S any] struct {
	Row
	// Hidden keys are not in the schema and the documentation.
	Hidden bool
	Schema func() Schema
	// Read reads a value and reports whether it was valid.
	Read func(r *Reader, path, key string, node *Node, w *Written[S]) bool
	Copy func(to, from *S)
	// Fill stores the default. It is nil for keys without a fixed default.
	Fill func(*S)
	// Node returns the value to show. If it is nil or returns nil, the key is left out.
	Node func(*S) *Node
	// Drops returns the keys in an underlying mapping that lose their values if this key is given.
	// It may be nil.
	Drops func(S) []string
}

// Row describes a key in the documentation.
type Row struct {
	Name string
	// Unit, if empty, is that of the kind.
	Unit string
	// Preset is the default, spelled as in a file. Usually describes a default that depends on
	// other values.
	Preset, Usually string
	// Meaning is Markdown.
	Meaning string
}

// Key declares a key of S with values of type T.
type Key[S, T any] struct {
	Row
	Kind Kind[T]
	At   func(*S) *T
	// Shown reports whether the key is shown; nil means always.
	Shown func(*S) bool
	Drops func(S) []string
	// Read and Node, if set, replace the functions in the kind.
	Read func(r *Reader, path, key string, node *Node, w *Written[S]) bool
	Node func(*S) *Node
}

// Field returns the key as a field.
func (k Key[S, T]) Field() Field[S] {
	f := Field[S]{Row: k.Row, Schema: k.Kind.describe, Read: k.Read, Node: k.Node, Drops: k.Drops}
	if f.Unit == "" {
		f.Unit = k.Kind.Unit
	}
	f.Copy = func(to, from *S) { *k.At(to) = *k.At(from) }
	if f.Read == nil {
		f.Read = func(r *Reader, _, key string, node *Node, w *Written[S]) bool {
			is, ok := k.Kind.Parse(r, key, node)
			if ok {
				*k.At(&w.Is) = is
			}
			return ok
		}
	}
	if f.Node == nil {
		f.Node = func(s *S) *Node { return k.Kind.Node(*k.At(s)) }
	}
	if show := f.Node; k.Shown != nil {
		f.Node = func(s *S) *Node {
			if !k.Shown(s) {
				return nil
			}
			return show(s)
		}
	}
	if k.Preset != "" {
		f.Fill = func(s *S) { *k.At(s) = k.Kind.mustParse(k.Name, k.Preset) }
	}
	return f
}

// Part declares a key of S whose value is itself a section.
type Part[S, T any] struct {
	Row
	Section Section[T]
	At      func(*S) *Written[T]
	// Node returns the value to show, or nil to leave the key out. It may be nil.
	Node func(*S) *Node
	// Merged overlays the part key by key on that of an underlying mapping, instead of replacing
	// it.
	Merged bool
}

// Field returns the part as a field.
func (p Part[S, T]) Field() Field[S] {
	if p.Unit == "" {
		p.Unit = "mapping"
	}
	return Field[S]{
		Row: p.Row, Schema: p.Section.Schema, Node: p.Node,
		Read: func(r *Reader, path, key string, node *Node, w *Written[S]) bool {
			*p.At(&w.Is) = p.Section.Read(r, path, key, node)
			return true
		},
		Copy: func(to, from *S) {
			if p.Merged {
				*p.At(to) = p.Section.Over(*p.At(from), *p.At(to))
				return
			}
			*p.At(to) = *p.At(from)
		},
	}
}

// Read reads a mapping, whose name appears in problems; path is its place among the keys in the
// file, "" for the file itself.
func (s Section[S]) Read(r *Reader, path, what string, node *Node) Written[S] {
	var w Written[S]
	s.ReadInto(r, path, what, node, &w)
	return w
}

// ReadInto reads like [Section.Read], but starts with the values in w.
func (s Section[S]) ReadInto(r *Reader, path, what string, node *Node, w *Written[S]) {
	w.Node, w.declared = node, s.declared()
	known := Keys{}
	for _, f := range s.Fields {
		known[f.Name] = func(key string, value *Node) {
			at := JoinPath(path, key)
			if f.Read(r, at, key, value, w) {
				w.Give(key, Place{key, value})
				r.Record(at, value)
			}
		}
	}
	r.Fields(what, node, known)
	if s.Check != nil {
		s.Check(r, w)
	}
}

// None returns a mapping that is absent from the file.
func (s Section[S]) None() Written[S] { return Written[S]{declared: s.declared()} }

// Names returns the keys in declaration order.
func (s Section[S]) Names() []string {
	var names []string
	for _, f := range s.Fields {
		names = append(names, f.Name)
	}
	return names
}

func (s Section[S]) declared() map[string]bool {
	names := map[string]bool{}
	for _, f := range s.Fields {
		names[f.Name] = true
	}
	return names
}

// Over overlays one mapping on another, key by key.
func (s Section[S]) Over(own, base Written[S]) Written[S] {
	out := Written[S]{Is: base.Is, Node: base.Node, declared: s.declared(), at: map[string]Place{}}
	maps.Copy(out.at, base.at)
	var none S
	for _, f := range s.Fields {
		if f.Drops == nil || !own.Has(f.Name) {
			continue
		}
		for _, dropped := range f.Drops(own.Is) {
			s.Field(dropped).Copy(&out.Is, &none)
			delete(out.at, dropped)
		}
	}
	s.Apply(own, &out.Is)
	maps.Copy(out.at, own.at)
	return out
}

// Apply copies the values given by a mapping.
func (s Section[S]) Apply(own Written[S], to *S) {
	for _, f := range s.Fields {
		if own.Has(f.Name) {
			f.Copy(to, &own.Is)
		}
	}
}

// Field returns a declared key. It panics if there is no key with that name.
func (s Section[S]) Field(name string) Field[S] {
	for _, f := range s.Fields {
		if f.Name == name {
			return f
		}
	}
	panic("yamlfile: the key " + name + " is not declared")
}

// Filled returns the values in the mapping, with the fixed default of every key it does not give.
func (s Section[S]) Filled(w Written[S]) S {
	out := w.Is
	for _, f := range s.Fields {
		if f.Fill != nil && !w.Has(f.Name) {
			f.Fill(&out)
		}
	}
	return out
}

// Show returns the visible keys with their values.
func (s Section[S]) Show(is *S) Mapping {
	var m Mapping
	for _, f := range s.Fields {
		if f.Node == nil {
			continue
		}
		if node := f.Node(is); node != nil {
			m.Add(f.Name, node)
		}
	}
	return m
}

// JoinPath returns the path of a key below another path.
func JoinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
