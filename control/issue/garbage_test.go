package issue

import (
	"runtime"
	"testing"
	"weak"

	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/load"
)

// The memory for a load, histograms of several megabytes, is garbage once only its counts are kept:
// records point into it.
func TestCountsKeepNoLoad(t *testing.T) {
	t.Parallel()
	spec := load.Spec{Load: writes()}
	kept, issued := func() (Counts, weak.Pointer[part]) {
		s := New(Options{Local: Local{Database: "fake", Driver: fake.New()}})
		if err := s.Prepare(t.Context(), Job{Database: "fake", Spec: spec}); err != nil {
			t.Fatalf("prepare: %v", err)
		}
		if err := s.Begin(&seconds{shed: map[int64]int64{}}, nil); err != nil {
			t.Fatalf("begin: %v", err)
		}
		c, err := s.End()
		if err != nil {
			t.Fatalf("end: %v", err)
		}
		return c, weak.Make(s.parts[0])
	}()
	for range 3 {
		runtime.GC()
	}
	if issued.Value() != nil {
		t.Error("the counts keep the part that issued the load in memory")
	}
	runtime.KeepAlive(kept.Own)
}
