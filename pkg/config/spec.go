package config

import (
	"time"

	"go.yaml.in/yaml/v4"
)

// fileSpec is a file as it was written, of either schema, before defaults.
type fileSpec struct {
	root               *yaml.Node
	title, description given[string]
	seed               given[uint64]
	trials             given[int]
	settle             given[time.Duration]
	results            given[string]
	hosts              given[[]hostSpec]
	agentPort          given[int]
	load               loadSpec
	databases          given[[]*databaseSpec]
	steps              stepsSpec
	plots              given[[]Plot]
	upload             uploadSpec
	uploadKey          string // the key that says where to upload to
	export             given[map[string]string]
	inputs             given[map[string]Inputs]
	report             given[Report]
}

// databaseSpec is one database as it was written.
type databaseSpec struct {
	id string
	// at is the id's node, for what is missing below it.
	at    *yaml.Node
	entry Entry
	// tag is the compact file's own tag, or the classic one made of its description.
	version, tag, description, binary given[string]
	install                           given[bool]
	hosts                             given[[]hostSpec]
	endpoints                         given[[]string]
	load                              loadSpec
	options                           any
	steps                             stepsSpec
}

// hostSpec is one machine as it was written.
type hostSpec struct {
	addr      string
	at        *yaml.Node
	agentPort given[int]
	ports     []given[int] // by role, which is the key
}

type stepsSpec struct{ start, load, stop, upload given[bool] }

type uploadSpec struct {
	at                    *yaml.Node
	url, keyFile, project given[string]
}

// loadSpec is a load as it was written. Positions stay with the values, so that
// a value that does not fit another is reported where it stands.
type loadSpec struct {
	operation                        given[string]
	requests                         given[int64]
	duration                         given[time.Duration]
	clients, connections             given[int]
	steps                            given[[]stepSpec]
	rate                             given[float64]
	arrival, backlog                 given[string]
	keySize, valueSize               given[int]
	sameKey                          given[bool]
	read                             given[string]
	timeout, drain, warmUp, coolDown given[time.Duration]
	target                           given[string]
}

type stepSpec struct {
	at                   *yaml.Node
	clients, connections given[int]
	requests             given[int64]
	duration             given[time.Duration]
	rate                 given[float64]
}

// over lays l over base, key by key. Clients and steps exclude one another, so
// whichever l gives replaces both.
func (l loadSpec) over(base loadSpec) loadSpec {
	if l.clients.set() || l.steps.set() {
		base.clients, base.steps = given[int]{}, given[[]stepSpec]{}
	}
	return loadSpec{
		operation:   pick(l.operation, base.operation),
		requests:    pick(l.requests, base.requests),
		duration:    pick(l.duration, base.duration),
		clients:     pick(l.clients, base.clients),
		connections: pick(l.connections, base.connections),
		steps:       pick(l.steps, base.steps),
		rate:        pick(l.rate, base.rate),
		arrival:     pick(l.arrival, base.arrival),
		backlog:     pick(l.backlog, base.backlog),
		keySize:     pick(l.keySize, base.keySize),
		valueSize:   pick(l.valueSize, base.valueSize),
		sameKey:     pick(l.sameKey, base.sameKey),
		read:        pick(l.read, base.read),
		timeout:     pick(l.timeout, base.timeout),
		drain:       pick(l.drain, base.drain),
		warmUp:      pick(l.warmUp, base.warmUp),
		coolDown:    pick(l.coolDown, base.coolDown),
		target:      pick(l.target, base.target),
	}
}

func pick[T any](over, base given[T]) given[T] {
	if over.set() {
		return over
	}
	return base
}

// over lays s over base.
func (s stepsSpec) over(base Steps) Steps {
	return Steps{
		Start:  s.start.or(base.Start),
		Load:   s.load.or(base.Load),
		Stop:   s.stop.or(base.Stop),
		Upload: s.upload.or(base.Upload),
	}
}
