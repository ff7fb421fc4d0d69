package control

import (
	"runtime"
	"testing"
	"weak"

	"github.com/coreos/dbtester/control/issue"
)

// Objects from the load are garbage when its files are derived, although abilities keep theirs
// until the run is finished.
func TestRunKeepsNoLoad(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.experiment(small + "databases: {fake: {}}")
	run, err := newRun(e, r.registry, &e.Databases[0], &journal{})
	if err != nil {
		t.Fatalf("make the run: %v", err)
	}
	issued := func() weak.Pointer[issue.Set] {
		p := newParts(r.options(e, nil), run, nil)
		p.forgetLoad()
		return weak.Make(p.load.issue)
	}()
	for range 3 {
		runtime.GC()
	}
	if issued.Value() != nil {
		t.Error("the run keeps what its load was issued with in memory")
	}
	runtime.KeepAlive(run)
}
