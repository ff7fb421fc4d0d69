package results

import "testing"

// TestIssuers: control alone issues a load without generators, and each generator its own part
// with them, whatever control recorded about itself.
func TestIssuers(t *testing.T) {
	own, other := &Spread{N: 1}, &Spread{N: 2}
	r := DatabaseRun{Issuing: Issuing{Lateness: own, SchedulingLag: own, Stops: &Stops{N: 1}, SelfCheck: &LoadCheck{}}}
	if got := r.Issuers(); r.ByGenerators() || len(got) != 1 || got[0] != (Issuer{Lateness: own, SchedulingLag: own, Stops: r.Stops, SelfCheck: r.SelfCheck}) || got[0].String() != "the client" {
		t.Errorf("without generators %+v issue the load, want control alone", got)
	}
	r.Generators = []Generator{{Addr: "10.0.0.1:3500", Lateness: other}, {Addr: "10.0.0.2:3500", Stops: &Stops{N: 2}}}
	want := []Issuer{{Number: 1, Addr: "10.0.0.1:3500", Lateness: other}, {Number: 2, Addr: "10.0.0.2:3500", Stops: r.Generators[1].Stops}}
	if got := r.Issuers(); !r.ByGenerators() || len(got) != 2 || got[0] != want[0] || got[1] != want[1] || got[1].String() != "generator 10.0.0.2:3500" {
		t.Errorf("%+v issue the load, want %+v", got, want)
	}
}
