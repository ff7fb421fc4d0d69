package config

import (
	"maps"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// fileSpec is a file before its values are checked against one another. Its Experiment holds the
// values that stay as in the file.
type fileSpec struct {
	Experiment
	hosts []written[hostSpec]
	// generators have no database ports.
	generators []written[hostSpec]
	members    int
	defaults   string
	agentPort  int
	tls        written[TLS]
	auth       written[Auth]
	cleanup    bool
	given      given
	load       written[loadSpec]
	sweep      written[sweepSpec]
	need       written[workload.Need]
	databases  []*written[databaseSpec]
	steps      written[Steps]
	upload     written[Upload]
	// root is the document; at, hostsAt and membersAt are the nodes under databases, hosts and
	// members.
	root, at, hostsAt, membersAt *yamlfile.Node
	// uploadKey is the key that says where to upload.
	uploadKey string
}

// fileKey is a top-level key whose values are of type T.
type fileKey[T any] = key[fileSpec, T]

// databaseSpec is one database before its values are checked against one another. Its Database
// holds the values that stay as in the file.
type databaseSpec struct {
	Database
	entry database.Database
	hosts []written[hostSpec]
	tls   written[TLS]
	auth  written[Auth]
	given given
	load  written[loadSpec]
	steps written[Steps]
	swept written[workload.Swept]
	// members is the number of hosts to use.
	members int
	// id is the id's node, the place of missing keys.
	id *yamlfile.Node
}

// databaseKey has values of type T.
type databaseKey[T any] = key[databaseSpec, T]

// hostSpec is one machine before database ports are known.
type hostSpec struct {
	Host
	// ports are the ports in the file; their keys are the roles.
	ports []yamlfile.Given[int]
}

// loadSpec is a load before its values are checked against one another and against
// the database.
type loadSpec struct {
	workload.Load
	mix     []shareSpec
	steps   []written[workload.Step]
	judge   written[judgeSpec]
	expect  written[workload.Expect]
	preload written[preloadSpec]
	// sizes is from value_size, which may be a range.
	sizes yamlfile.Given[[2]int]
	// sizeLaw is from value_sizes.
	sizeLaw written[sizeLawSpec]
}

// loadKey has values of type T.
type loadKey[T any] = key[loadSpec, T]

// shareSpec is one operation in a mix, and its place.
type shareSpec struct {
	workload.Share
	at *yamlfile.Node
}

// preloadSpec is the data before a load in a file: a number of keys, or their bytes.
type preloadSpec struct {
	keys  int64
	bytes int64
}

// judgeSpec is a judge mapping in a file.
type judgeSpec struct {
	achieved, failed, unknown, unsent, waiting, clientDelay written[workload.Bounds]
}

// sizeLawSpec is a value_sizes mapping in a file.
type sizeLawSpec struct {
	workload.Sizes
	min, max int
}

// sizeLawKey has values of type T.
type sizeLawKey[T any] = key[sizeLawSpec, T]

// sweepSpec is a sweep in a file. Exactly one list has values.
type sweepSpec struct {
	rate    []yamlfile.Given[float64]
	clients []yamlfile.Given[int]
	preload []yamlfile.Given[amount]
	members []yamlfile.Given[int]
	// down repeats the steps on the way back.
	down bool
}

// amount is the amount of data before a load: bytes if it has a unit, else keys.
type amount struct {
	preloadSpec
	text string
}

// key returns the key that a sweep varies, "" without a sweep.
func (s *sweepSpec) key() workload.SweepKey {
	switch {
	case s.rate != nil:
		return workload.SweepRate
	case s.clients != nil:
		return workload.SweepClients
	case s.preload != nil:
		return workload.SweepPreload
	case s.members != nil:
		return workload.SweepMembers
	}
	return ""
}

// given holds ability keys in a mapping, as read by [ability.Keys].
type given map[string]any

// with returns a copy with one value replaced: the map may be shared.
func (g given) with(name string, is any) given {
	own := given{}
	maps.Copy(own, g)
	own[name] = is
	return own
}

// can reports whether the driver of a database has T, an optional interface of the contract.
func can[T any](d *databaseSpec) bool {
	_, ok := d.Options.(T)
	return ok
}
