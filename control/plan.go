package control

import (
	"net"
	"slices"
	"strconv"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
)

// plannedStep is a step of the load and the connections it shares.
type plannedStep struct {
	load.Step
	connections int
}

// plannedSteps are the steps of the load: those of the file, or the whole load as
// one.
func (c *conductor) plannedSteps() []plannedStep { return plannedSteps(c.db.Load) }

func plannedSteps(l config.Load) []plannedStep {
	var steps []plannedStep
	for i, s := range l.Stretches() {
		steps = append(steps, plannedStep{
			Step: load.Step{
				Index: i, Clients: s.Clients, Requests: s.Requests, Duration: s.Duration,
				Rate: s.Rate, RateEnd: s.RateEnd, Ramp: s.Ramp,
			},
			connections: s.Connections,
		})
	}
	return steps
}

// spec is what all steps have in common.
func (c *conductor) spec() load.Spec {
	l := c.db.Load
	return load.Spec{
		Seed: c.Experiment.Seed, Operation: database.Op(l.Operation), Mix: mixOf(l), Read: c.readMode(),
		Keys: l.Keys, Law: load.KeyLaw(l.KeyLaw), RangeLimit: l.RangeLimit,
		KeySize: l.KeySize, ValueSize: l.ValueSize, ValueSizeMax: l.ValueSizeMax, SameKey: l.SameKey,
		Poisson: l.Arrival == "poisson", Shed: l.Backlog == "shed",
		Timeout: l.Timeout, Drain: l.Drain, WarmUp: l.WarmUp, CoolDown: l.CoolDown,
	}
}

// readMode is the read mode of the load, "" when it does not read.
func (c *conductor) readMode() database.ReadMode {
	if !c.reads() {
		return ""
	}
	if c.db.Load.Read != "" {
		return database.ReadMode(c.db.Load.Read)
	}
	return c.entry.Info.Reads[0]
}

// reads tells whether an operation of the load reads.
func (c *conductor) reads() bool { return c.does(readers...) }

// readers are the operations that read.
var readers = []database.Op{database.OpRead, database.OpReadOneshot, database.OpRange, database.OpSwap}

// does tells whether one of some operations is part of the load.
func (c *conductor) does(some ...database.Op) bool {
	return slices.ContainsFunc(operations(c.db.Load), func(op database.Op) bool { return slices.Contains(some, op) })
}

// operations are the operations of a load.
func operations(l config.Load) []database.Op {
	return load.Spec{Operation: database.Op(l.Operation), Mix: mixOf(l)}.Operations()
}

func mixOf(l config.Load) []load.Share {
	var mix []load.Share
	for _, s := range l.Mix {
		mix = append(mix, load.Share{Operation: database.Op(s.Operation), Weight: s.Weight})
	}
	return mix
}

// loadRecord is the load as the manifest holds it.
func (c *conductor) loadRecord() results.Load {
	l := c.db.Load
	r := results.Load{
		Operation: l.Operation, Workload: l.Workload, ReadMode: string(c.readMode()), Requests: l.Requests, Duration: l.Duration,
		Clients: l.Clients, Connections: l.Connections, Rate: l.Rate, RateEnd: l.RateEnd,
		KeySize: l.KeySize, ValueSize: l.ValueSize, ValueSizeMax: l.ValueSizeMax, SameKey: l.SameKey,
		RangeLimit: l.RangeLimit, Timeout: l.Timeout, WarmUp: l.WarmUp, CoolDown: l.CoolDown, Target: l.Target,
	}
	for _, s := range l.Mix {
		r.Mix = append(r.Mix, results.Share{Operation: s.Operation, Weight: s.Weight})
	}
	if l.Keys > 0 {
		r.Keys, r.KeyLaw = l.Keys, l.KeyLaw
	}
	for _, s := range plannedSteps(l) {
		r.Clients, r.Connections = max(r.Clients, s.Clients), max(r.Connections, s.connections)
		if s.Rate > 0 {
			r.Arrival, r.Backlog, r.Drain = l.Arrival, l.Backlog, l.Drain
		}
	}
	return r
}

// startRequest is what an agent needs to start its member.
func startRequest(e *config.Experiment, entry database.Database, db *config.Database, a *agentSession, clients int) *dbtesterpb.StartRequest {
	req := &dbtesterpb.StartRequest{
		RunId: a.runID, Database: db.Name, Tag: db.Tag, Version: release(e, entry, db), Install: db.Install, Options: db.OptionsYAML,
		Index: int32(a.index), Clients: int32(clients), Detached: !db.Steps.Stop, Binary: db.Binary,
	}
	if t := db.TLS; t != nil {
		req.TlsCa, req.TlsCert, req.TlsKey = t.CA, t.Cert, t.Key
	}
	for _, h := range hosts(entry, db) {
		ports := make(map[string]int32, len(h.Ports))
		for role, port := range h.Ports {
			ports[role] = int32(port)
		}
		req.Hosts = append(req.Hosts, &dbtesterpb.MemberHost{Addr: h.Addr, Ports: ports})
	}
	return req
}

// endpoint is where clients reach a host.
func endpoint(h database.Host) string {
	return net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports["client"]))
}
