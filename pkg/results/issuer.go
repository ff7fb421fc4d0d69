package results

// Issuer holds the record of itself that a process made that issued a load or a part of it. A
// value that was not recorded is nil.
type Issuer struct {
	// Number counts generators from 1, in the order of their parts; 0 is control.
	Number int
	// Addr is the address of a generator's agent; "" for control.
	Addr string
	// Lateness, SchedulingLag, Stops and SelfCheck are as in [DatabaseRun].
	Lateness, SchedulingLag *Spread
	Stops                   *Stops
	SelfCheck               *LoadCheck
}

// String names the issuer for people.
func (i Issuer) String() string {
	if i.Number == 0 {
		return "the client"
	}
	return "generator " + i.Addr
}

// ByGenerators reports whether generators issued the load; otherwise control did.
func (r *DatabaseRun) ByGenerators() bool { return len(r.Generators) > 0 }

// Issuers returns all issuers of the load, at least one: control, or the generators in the order
// of their parts.
func (r *DatabaseRun) Issuers() []Issuer {
	if !r.ByGenerators() {
		return []Issuer{{Lateness: r.Lateness, SchedulingLag: r.SchedulingLag, Stops: r.Stops, SelfCheck: r.SelfCheck}}
	}
	list := make([]Issuer, len(r.Generators))
	for i, g := range r.Generators {
		list[i] = Issuer{Number: i + 1, Addr: g.Addr, Lateness: g.Lateness, SchedulingLag: g.SchedulingLag, Stops: g.Stops, SelfCheck: g.SelfCheck}
	}
	return list
}
