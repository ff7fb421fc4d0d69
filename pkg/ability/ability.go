// Package ability defines the abilities, which act during or around a load. Each ability is
// declared in its own folder below this one and listed in package all. Its part in runs is below
// control/abilities, and its part in reports below analyze/abilities. Nothing else knows an ability
// by name: CONTRIBUTING.md lists where a new one goes.
package ability

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Ability declares an ability: work during or around a load. What it requires from a driver is a
// facet: an optional interface in package database.
type Ability struct {
	Name string
	// Words, like Name, may occur only in the ability's own packages.
	Words []string
	// Keys are the keys in an experiment file.
	Keys Keys
	// More are further keys, which are resolved before Keys, in this order.
	More []Keys
	// Start completes the request with which an agent starts a member, whose index is set. Refuses
	// returns why the reply will not do. Setup records member settings. Each may be nil.
	Start   func(Values, *dbtesterpb.StartRequest) error
	Refuses func(Values, *dbtesterpb.StartResponse) error
	Setup   func(Values, *results.Setup)
	// Whole means that Keys stand only at the top of a file and apply to all databases.
	Whole bool
	// Search has the ability send the load. It is nil for abilities that act during a load. With
	// one, Keys are Whole.
	Search *Search
	// Record is the entry in a run record, Member the entry in each member record. Either may be
	// nil.
	Record, Member Recorded
	// Disturbed returns, from a run record, when the ability disturbed the load on purpose; nil for
	// abilities that never do. Those times do not show whether the load is steady.
	Disturbed func(results.Records) []results.Stretch
	// Observes declares what it counts or times during a load, except response times.
	Observes []observation.Group
}

// Database describes a database to an ability when its keys are resolved.
type Database struct {
	ID, Name string
	// Version is the release that the file names, or "". Embedded is the built-in server version,
	// or "". Binary is the executable that runs instead of a release.
	Version, Embedded, Binary string
	// Options are the driver options, which the ability may change, or nil.
	Options any
	// Info has the facts about this kind of database.
	Info database.Info
	Load workload.Load
	// Members counts the members in the cluster.
	Members int
	// Running clusters are not started by agents and are shared with other users.
	Running bool
	// Reuse means that others may have keys below the load's prefix in a running cluster.
	Reuse bool
	// Secret means that clients send credentials only over TLS.
	Secret bool
	// Generators counts the generators that issue the load, 0 if control does.
	Generators int
	// Classic files have no ability keys.
	Classic bool
	// Search is the ability that searches for load rates, or nil.
	Search *Search
	// Node returns the value that the file gives for a key in the database, or nil. OptionAt
	// returns the place of the option that begins an error message.
	Node     func(key string) *yamlfile.Node
	OptionAt func(message string) *yamlfile.Node
}

// Keys declares an ability's key in an experiment file, at the top of the file and in each
// database: a [Section], which overrides the one at the top key by key, a [List] or a [Single].
type Keys interface {
	// Row describes the key, in a database or at the top of a file.
	Row(database bool) yamlfile.Row
	// Table documents the mapping. It returns "" for other values.
	Table() string
	Schema() yamlfile.Schema
	// Read returns the mapping as written in the file, for Resolve.
	Read(r *yamlfile.Reader, path, key string, node *yamlfile.Node) any
	// Resolve sets the value for a database in v. own and all are what Read returned for the
	// database and for the whole file, nil if the file has no such key. A nil d resolves keys that
	// apply to the whole file.
	Resolve(r *yamlfile.Reader, own, all any, d *Database, v Values) Values
	// Show returns the value for a database as it appears in a file, nil to omit it.
	Show(v Values, l workload.Load) *yamlfile.Node
}

// Values holds resolved ability values by their keys in a file. Zero values are omitted.
type Values map[string]any

// Others encodes the values for [openjson.Marshal].
func (v Values) Others() (map[string]json.RawMessage, error) {
	others := map[string]json.RawMessage{}
	for key, is := range v {
		data, err := json.Marshal(is)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", key, err)
		}
		others[key] = data
	}
	return others, nil
}

// Section declares an ability's keys as a mapping, which is resolved to a T.
type Section[T any] struct {
	// Key is the name of the mapping, and Meaning describes it at the top of a file.
	Key, Meaning string
	// Replaces means that a mapping in a database replaces the one at the top as a whole, not key
	// by key.
	Replaces bool
	Fields   func() yamlfile.Section[T]
	Resolved func(r *yamlfile.Reader, own, all yamlfile.Written[T], d *Database) T
	Shown    func(is T, l workload.Load) *yamlfile.Node
}

// Of returns the value of this key from v.
func (s Section[T]) Of(v Values) T { return valueOf[T](v, s.Key) }

// With returns the values with that of this key replaced.
func (s Section[T]) With(v Values, is T) Values { return with(v, s.Key, is) }

// valueOf returns a key's value, or the zero value.
func valueOf[T any](v Values, key string) T {
	is, _ := v[key].(T)
	return is
}

// with returns the values with that of one key replaced.
func with[T any](v Values, key string, is T) Values {
	values := Values{}
	maps.Copy(values, v)
	if delete(values, key); !reflect.ValueOf(&is).Elem().IsZero() {
		values[key] = is
	}
	if len(values) == 0 {
		return nil
	}
	return values
}

// Row implements [Keys].
func (s Section[T]) Row(database bool) yamlfile.Row {
	row := yamlfile.Row{Name: s.Key, Unit: "mapping", Meaning: s.Meaning}
	if database {
		row.Usually, row.Meaning = "the file's", "replaces the file's key by key"
		if s.Replaces {
			row.Meaning = "replaces the file's"
		}
	}
	return row
}

// Table implements [Keys].
func (s Section[T]) Table() string { return s.Fields().Table() }

// Schema implements [Keys].
func (s Section[T]) Schema() yamlfile.Schema { return s.Fields().Schema() }

// Read implements [Keys].
func (s Section[T]) Read(r *yamlfile.Reader, path, key string, node *yamlfile.Node) any {
	return s.Fields().Read(r, path, key, node)
}

// Resolve implements [Keys].
func (s Section[T]) Resolve(r *yamlfile.Reader, own, all any, d *Database, v Values) Values {
	return s.With(v, s.Resolved(r, s.written(own), s.written(all), d))
}

// written returns what Read returned, or a mapping without keys if the file does not have it.
func (s Section[T]) written(read any) yamlfile.Written[T] {
	if w, ok := read.(yamlfile.Written[T]); ok {
		return w
	}
	return s.Fields().None()
}

// Show implements [Keys].
func (s Section[T]) Show(v Values, l workload.Load) *yamlfile.Node { return s.Shown(s.Of(v), l) }

// Recorded is an ability's entry in a run or member record. [Record] implements it.
type Recorded interface {
	// Type is the entry type. Its JSON names appear in the manifest.
	Type() reflect.Type
	// Name is the key in the manifest, among those of the run or the member.
	Name() string
}

// Record declares an ability's entry in a run or member record.
type Record[T any] struct {
	// Key is its name in the manifest, among the keys of the run or the member.
	Key string
}

// Type implements [Recorded].
func (r Record[T]) Type() reflect.Type { return reflect.TypeFor[T]() }

// Name implements [Recorded].
func (r Record[T]) Name() string { return r.Key }

// Of returns the entry from run or member records, or the zero value. An error means that this
// release cannot read the entry.
func (r Record[T]) Of(records results.Records) (is T, err error) {
	if data := records[r.Key]; data != nil {
		if err := json.Unmarshal(data, &is); err != nil {
			return is, fmt.Errorf("decode %s: %w", r.Key, err)
		}
	}
	return is, nil
}

// Set records the entry, or removes it if it is zero.
func (r Record[T]) Set(records *results.Records, is T) error {
	if delete(*records, r.Key); reflect.ValueOf(&is).Elem().IsZero() {
		return nil
	}
	data, err := json.Marshal(is)
	if err != nil {
		return fmt.Errorf("encode %s: %w", r.Key, err)
	}
	if *records == nil {
		*records = results.Records{}
	}
	(*records)[r.Key] = data
	return nil
}
