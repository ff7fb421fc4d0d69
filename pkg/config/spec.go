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
	tls                given[tlsSpec]
	auth               given[authSpec]
	load               loadSpec
	databases          given[[]*databaseSpec]
	steps              stepsSpec
	plots              given[[]Plot]
	profile            given[profileSpec]
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
	tls                               given[tlsSpec]
	auth                              given[authSpec]
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
	operation, workload              given[string]
	mix                              given[[]shareSpec]
	keys                             given[int64]
	keyLaw                           given[string]
	rangeLimit                       given[int]
	requests                         given[int64]
	duration                         given[time.Duration]
	clients, connections             given[int]
	steps                            given[[]stepSpec]
	rate, rateEnd                    given[float64]
	ramp                             given[time.Duration]
	arrival, backlog                 given[string]
	keySize, valueSize, valueSizeMax given[int]
	sameKey                          given[bool]
	read                             given[string]
	timeout, drain, warmUp, coolDown given[time.Duration]
	target                           given[string]
}

type stepSpec struct {
	at                   *yaml.Node
	clients, connections given[int]
	requests             given[int64]
	duration, ramp       given[time.Duration]
	rate, rateEnd        given[float64]
}

// shareSpec is one operation of a mix as it was written.
type shareSpec struct {
	Share
	at *yaml.Node
}

func sharesOf(mix []shareSpec) []Share {
	shares := make([]Share, len(mix))
	for i, s := range mix {
		shares[i] = s.Share
	}
	return shares
}

// over lays l over base, key by key.
func (l loadSpec) over(base loadSpec) loadSpec {
	base.yield(l)
	return loadSpec{
		operation:    pick(l.operation, base.operation),
		mix:          pick(l.mix, base.mix),
		workload:     pick(l.workload, base.workload),
		keys:         pick(l.keys, base.keys),
		keyLaw:       pick(l.keyLaw, base.keyLaw),
		rangeLimit:   pick(l.rangeLimit, base.rangeLimit),
		requests:     pick(l.requests, base.requests),
		duration:     pick(l.duration, base.duration),
		clients:      pick(l.clients, base.clients),
		connections:  pick(l.connections, base.connections),
		steps:        pick(l.steps, base.steps),
		rate:         pick(l.rate, base.rate),
		rateEnd:      pick(l.rateEnd, base.rateEnd),
		ramp:         pick(l.ramp, base.ramp),
		arrival:      pick(l.arrival, base.arrival),
		backlog:      pick(l.backlog, base.backlog),
		keySize:      pick(l.keySize, base.keySize),
		valueSize:    pick(l.valueSize, base.valueSize),
		valueSizeMax: pick(l.valueSizeMax, base.valueSizeMax),
		sameKey:      pick(l.sameKey, base.sameKey),
		read:         pick(l.read, base.read),
		timeout:      pick(l.timeout, base.timeout),
		drain:        pick(l.drain, base.drain),
		warmUp:       pick(l.warmUp, base.warmUp),
		coolDown:     pick(l.coolDown, base.coolDown),
		target:       pick(l.target, base.target),
	}
}

// yield drops what excludes something that over gives, or means nothing without
// what over replaces.
func (l *loadSpec) yield(over loadSpec) {
	if over.clients.set() || over.steps.set() {
		l.clients, l.steps = given[int]{}, given[[]stepSpec]{}
	}
	if over.operation.set() || over.mix.set() || over.workload.set() {
		l.operation, l.mix, l.workload = given[string]{}, given[[]shareSpec]{}, given[string]{}
	}
	if over.sameKey.is {
		l.keys, l.keyLaw = given[int64]{}, given[string]{}
	}
	if over.keys.set() || over.keyLaw.set() {
		l.sameKey = given[bool]{}
	}
	if over.valueSize.set() {
		l.valueSizeMax = given[int]{}
	}
	if over.rate.set() {
		l.rateEnd = given[float64]{}
	}
	if over.rate.set() && over.rate.is == 0 {
		l.arrival, l.backlog, l.drain = given[string]{}, given[string]{}, given[time.Duration]{}
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
