// Package ability is the frame in which the program's abilities are declared: what it can do
// during or around a load. An ability is declared in a folder of its own below
// this one and in the list of package all; what it does during a run is its half below
// control/abilities, and what reports show of it is its half below analyze/abilities.
// Nothing else knows an ability by name: CONTRIBUTING.md lists the places of a new one.
package ability

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Ability declares what the program can do during or around a load. What it needs of a driver
// is a facet of it: an optional interface of package database.
type Ability struct {
	Name string
	// Words are those that only the rooms of the ability know, besides its name.
	Words []string
	// Keys are its keys in an experiment file.
	Keys Keys
	// More are others, which are resolved before Keys, in this order.
	More []Keys
	// Start completes the request with which an agent starts a member; nil asks for nothing.
	Start func(Values, *dbtesterpb.StartRequest) error
	// Whole means that Keys are at the top of a file only: they hold for every database.
	Whole bool
	// Record is what it leaves in the record of a run, Member in the record of each member;
	// nil for nothing.
	Record, Member Recorded
	// Observes is what it counts or times during a load, besides response times.
	Observes []observation.Group
}

// Database is what an ability may know of a database when its keys are resolved.
type Database struct {
	ID, Name string
	// Version is the release that the file names, "" for none. Embedded is that of the server
	// in this program, "" for none. Binary is the executable that runs in place of a release.
	Version, Embedded, Binary string
	// Options are those of the driver, which the ability may change; nil without any.
	Options any
	// Info has the facts of the kind of database.
	Info database.Info
	Load workload.Load
	// Members is how many members the cluster has.
	Members int
	// Running clusters are not started by agents, and others use them.
	Running bool
	// Secret means that the clients' credentials are sent over TLS only.
	Secret bool
	// Generators are how many issue the load, 0 if control does.
	Generators int
	// Classic files have no keys of abilities. Searched is whether a capacity is searched
	// for.
	Classic, Searched bool
	// Node returns the value of one of the database's keys in the file, nil if it is not
	// given. OptionAt returns the place of the option that an error begins with.
	Node     func(key string) *yamlfile.Node
	OptionAt func(message string) *yamlfile.Node
}

// Keys are a key of an ability in an experiment file, at the top of the file and in each
// database: a [Section], which goes over that of the file key by key, a [List] or a [Single].
type Keys interface {
	// Row describes the key of the mapping, in a database or at the top of a file.
	Row(database bool) yamlfile.Row
	// Table is the documentation of the mapping, "" for another value.
	Table() string
	Schema() yamlfile.Schema
	// Read returns the mapping as the file gives it, for Resolve.
	Read(r *yamlfile.Reader, path, key string, node *yamlfile.Node) any
	// Resolve sets the value of a database in v. own and all are what Read returned for the
	// database and the whole file, nil for what the file does not give. Without a database d
	// is nil: the value is of keys of the whole file.
	Resolve(r *yamlfile.Reader, own, all any, d *Database, v Values) Values
	// Show returns a database's value as a file has it, nil to leave it out.
	Show(v Values, l workload.Load) *yamlfile.Node
}

// Values are the resolved values of abilities by their keys in a file. Zero values are left
// out.
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

// Section declares the keys of an ability with values of type T.
type Section[T any] struct {
	// Key is the name of the mapping, and Meaning describes it at the top of a file.
	Key, Meaning string
	// Replaces means that the mapping of a database replaces that of the file as a whole, and
	// not key by key.
	Replaces bool
	Fields   func() yamlfile.Section[T]
	Resolved func(r *yamlfile.Reader, own, all yamlfile.Written[T], d *Database) T
	Shown    func(is T, l workload.Load) *yamlfile.Node
}

// Of returns the value among those of a database.
func (s Section[T]) Of(v Values) T { return valueOf[T](v, s.Key) }

// With returns the values with another one in place of this ability's.
func (s Section[T]) With(v Values, is T) Values { return with(v, s.Key, is) }

// valueOf is the value of a key, the zero value for none.
func valueOf[T any](v Values, key string) T {
	is, _ := v[key].(T)
	return is
}

// with returns the values with another one of a key.
func with[T any](v Values, key string, is T) Values {
	values := Values{}
	for other, value := range v {
		values[other] = value
	}
	if delete(values, key); !reflect.ValueOf(&is).Elem().IsZero() {
		values[key] = is
	}
	if len(values) == 0 {
		return nil
	}
	return values
}

// Row is the method of [Keys].
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

// Table is the method of [Keys].
func (s Section[T]) Table() string { return s.Fields().Table() }

// Schema is the method of [Keys].
func (s Section[T]) Schema() yamlfile.Schema { return s.Fields().Schema() }

// Read is the method of [Keys].
func (s Section[T]) Read(r *yamlfile.Reader, path, key string, node *yamlfile.Node) any {
	return s.Fields().Read(r, path, key, node)
}

// Resolve is the method of [Keys].
func (s Section[T]) Resolve(r *yamlfile.Reader, own, all any, d *Database, v Values) Values {
	given := func(read any) yamlfile.Written[T] {
		if w, ok := read.(yamlfile.Written[T]); ok {
			return w
		}
		return s.Fields().None()
	}
	return s.With(v, s.Resolved(r, given(own), given(all), d))
}

// Show is the method of [Keys].
func (s Section[T]) Show(v Values, l workload.Load) *yamlfile.Node { return s.Shown(s.Of(v), l) }

// Recorded is what an ability leaves in the record of a run or of a member. [Record] is the
// implementation.
type Recorded interface {
	// Type is the type of the record, whose names in JSON those of the manifest are.
	Type() reflect.Type
	// Name is the key in the manifest, among the keys of the run or of the member.
	Name() string
}

// Record declares what an ability leaves in the record of a run or of a member.
type Record[T any] struct {
	// Key is its name in the manifest, among the keys of the run or of the member.
	Key string
}

// Type is the method of [Recorded].
func (r Record[T]) Type() reflect.Type { return reflect.TypeFor[T]() }

// Name is the method of [Recorded].
func (r Record[T]) Name() string { return r.Key }

// Of returns what the records of a run or of a member have, the zero value for nothing. The
// error is of a record that this release cannot read.
func (r Record[T]) Of(records results.Records) (is T, err error) {
	if data := records[r.Key]; data != nil {
		if err := json.Unmarshal(data, &is); err != nil {
			return is, fmt.Errorf("decode %s: %w", r.Key, err)
		}
	}
	return is, nil
}

// Set records what the ability leaves. A zero value leaves nothing.
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
