package ability

import (
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// List declares an ability's key whose value is a list of mappings. A list in a database replaces
// the one at the top of the file.
type List[T any] struct {
	Key, Meaning string
	Item         func() yamlfile.Section[T]
	// Resolved returns the items for a database from those that the file gives for it.
	Resolved func(r *yamlfile.Reader, items []yamlfile.Written[T], d *Database, v Values) []T
}

// Of returns the value of this key from v.
func (l List[T]) Of(v Values) []T { return valueOf[[]T](v, l.Key) }

// With returns the values with that of this key replaced.
func (l List[T]) With(v Values, is []T) Values { return with(v, l.Key, is) }

// Row implements [Keys].
func (l List[T]) Row(database bool) yamlfile.Row {
	row := yamlfile.Row{Name: l.Key, Unit: "list", Meaning: l.Meaning}
	if database {
		row.Usually, row.Meaning = "the file's", "replaces the file's"
	}
	return row
}

// Table implements [Keys].
func (l List[T]) Table() string { return l.Item().Table() }

// Schema implements [Keys].
func (l List[T]) Schema() yamlfile.Schema {
	return yamlfile.Schema{"type": []string{"array", "null"}, "items": l.Item().Schema()}
}

// Read implements [Keys].
func (l List[T]) Read(r *yamlfile.Reader, _, key string, node *yamlfile.Node) any {
	nodes, _ := r.Items(key, node)
	items := make([]yamlfile.Written[T], len(nodes)) // an empty list counts as given
	item := l.Item()
	for i, n := range nodes {
		items[i] = item.Read(r, "", key, n)
		items[i].Is = item.Filled(items[i])
	}
	return items
}

// Resolve implements [Keys].
func (l List[T]) Resolve(r *yamlfile.Reader, own, all any, d *Database, v Values) Values {
	items, given := own.([]yamlfile.Written[T])
	if !given {
		items, _ = all.([]yamlfile.Written[T])
	}
	return l.With(v, l.Resolved(r, items, d, v))
}

// Show implements [Keys].
func (l List[T]) Show(v Values, _ workload.Load) *yamlfile.Node {
	items := l.Of(v)
	if len(items) == 0 {
		return nil
	}
	section := l.Item()
	return yamlfile.ListNode(items, false, func(is T) *yamlfile.Node { return section.Show(&is).Flow() })
}

// Single declares an ability's key that has one value instead of a mapping.
type Single[T any] struct {
	// About is its row at the top of a file.
	About yamlfile.Row
	Kind  yamlfile.Kind[T]
	// Resolved returns the value for a database from the value in the file and its place, which is
	// nil if the file gives no value.
	Resolved func(r *yamlfile.Reader, is T, at *yamlfile.Node, d *Database, v Values) T
	// Shown reports whether the value is shown.
	Shown func(T) bool
}

// single is a value from a file, and its place.
type single[T any] struct {
	is T
	at *yamlfile.Node
}

// Of returns the value of this key from v.
func (s Single[T]) Of(v Values) T { return valueOf[T](v, s.About.Name) }

// With returns the values with that of this key replaced.
func (s Single[T]) With(v Values, is T) Values { return with(v, s.About.Name, is) }

// Row implements [Keys].
func (s Single[T]) Row(database bool) yamlfile.Row {
	row := s.About
	if row.Unit == "" {
		row.Unit = s.Kind.Unit
	}
	if database {
		row.Preset, row.Usually, row.Meaning = "", "the file's", "replaces the file's"
	}
	return row
}

// Table implements [Keys].
func (s Single[T]) Table() string { return "" }

// Schema implements [Keys].
func (s Single[T]) Schema() yamlfile.Schema { return s.Kind.Schema }

// Read implements [Keys].
func (s Single[T]) Read(r *yamlfile.Reader, _, key string, node *yamlfile.Node) any {
	is, ok := s.Kind.Parse(r, key, node)
	if !ok {
		return nil
	}
	return single[T]{is, node}
}

// Resolve implements [Keys].
func (s Single[T]) Resolve(r *yamlfile.Reader, own, all any, d *Database, v Values) Values {
	given, ok := own.(single[T])
	if !ok {
		given, _ = all.(single[T])
	}
	return s.With(v, s.Resolved(r, given.is, given.at, d, v))
}

// Show implements [Keys].
func (s Single[T]) Show(v Values, _ workload.Load) *yamlfile.Node {
	is := s.Of(v)
	if !s.Shown(is) {
		return nil
	}
	return s.Kind.Node(is)
}
