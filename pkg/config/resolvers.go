package config

import (
	"cmp"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// databaseResolver resolves one database in a file.
type databaseResolver struct {
	*reader
	file *fileSpec
	db   *written[databaseSpec]
	spec *databaseSpec // in db
}

// loadResolver resolves the load for one database.
type loadResolver struct {
	*reader
	file *fileSpec
	db   *databaseSpec
	// prefix is the length of the stored key prefix, in bytes.
	prefix int
	// spec is the database's load over the one at the top of the file.
	spec written[loadSpec]
	// searched means that an ability searches for load rates.
	searched bool
}

// loadKeys gives an ability the load keys.
type loadKeys struct{ *loadResolver }

// Place implements [ability.LoadKeys].
func (k loadKeys) Place(key string) yamlfile.Place { return k.spec.Place(key) }

// At implements [ability.LoadKeys].
func (k loadKeys) At(keys ...string) *yamlfile.Node { return k.at(keys...) }

// idle warns about a value without effect, unless an error may be the reason.
func (r *loadResolver) idle(p yamlfile.Place, why string) {
	if r.Errors() == 0 {
		r.Warnf(p.At, "%s: %s", p.Key, why)
	}
}

// at returns the place of the first key that is given, else of the database id.
func (r *loadResolver) at(keys ...string) *yamlfile.Node {
	for _, key := range keys {
		if node := r.spec.NodeOf(key); node != nil {
			return node
		}
	}
	return r.db.id
}

// counted is a mapping that gives a number of clients: a load or a step.
type counted interface {
	Place(key string) yamlfile.Place
	Called(key string) string
}

// maxClients is the most clients that one machine can run: each needs memory.
const maxClients = 1_000_000

// someClients checks a number of clients against the requests they share.
func (r *loadResolver) someClients(w counted, clients int, requests int64) {
	at, key := cmp.Or(w.Place("clients").At, r.db.id), w.Called("clients")
	switch {
	case clients < 1:
		r.Errorf(at, "%s must be positive, got %d", key, clients)
	case clients > maxClients:
		r.Errorf(at, "%s must be at most %d, got %d", key, maxClients, clients)
	case requests > 0 && int64(clients) > requests:
		r.Errorf(at, "%s: %d are more than the %d requests they share", key, clients, requests)
	}
}

// maxConnections is the largest default number of shared connections. More would
// cost memory and gain nothing.
const maxConnections = 100

// connections resolves the number of connections that clients share: n, if it is given at a place.
func (r *loadResolver) connections(p yamlfile.Place, n, clients int) int {
	shared := r.db.entry.Info.SharedConn
	switch {
	case !p.Set() && shared:
		return min(clients, maxConnections)
	case !p.Set():
		return clients
	case n < 1:
		r.Errorf(p.At, "%s must be positive, got %d", p.Key, n)
	case !shared && n != clients:
		r.Errorf(p.At, "%s: %d for %d clients, but clients of %s cannot share one: leave it out, or give as many",
			p.Key, n, clients, r.db.entry.Name)
	case n > clients:
		r.Errorf(p.At, "%s: %d are more than the %d clients", p.Key, n, clients)
	}
	return n
}

// changes checks values that change while a step runs: the rate, or the number of
// active clients.
func (r *loadResolver) changes(s workload.Step, rateEnd, ramp *yamlfile.Node) {
	if s.RateEnd > 0 {
		switch arrival := r.spec.NodeOf("arrival"); {
		case s.Rate == 0:
			r.Errorf(rateEnd, "rate_end: a rate that changes needs a rate to begin with")
		case s.Duration == 0:
			r.Errorf(rateEnd, "rate_end: a rate that changes needs a duration to change over")
		case arrival != nil && r.spec.Is.Arrival != workload.ArrivalConstant:
			r.Errorf(rateEnd, "rate_end: requests of a rate that changes are evenly spaced; arrival: %s (line %d) needs a constant rate",
				r.spec.Is.Arrival, arrival.Line)
		}
	}
	switch {
	case s.Ramp > 0 && s.Rate > 0:
		r.Errorf(ramp, "ramp: with a rate, clients send when a request is due; give a rate_end to let the rate grow")
	case s.Duration > 0 && s.Ramp > s.Duration:
		r.Errorf(ramp, "ramp: %s is longer than the %s in which clients send", s.Ramp, s.Duration)
	}
}
