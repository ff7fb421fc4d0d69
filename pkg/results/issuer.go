package results

// Issuer holds what a process that issued a load, or a part, recorded about itself. Unrecorded
// values are nil.
type Issuer struct {
	// Number counts generators from 1, in part order; 0 is control.
	Number int
	// Addr is the generator's agent address; "" for control.
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

// Issuers returns all issuers, at least one: control, or the generators in part order.
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
