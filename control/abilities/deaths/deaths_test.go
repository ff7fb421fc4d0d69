package deaths

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// Sessions with connections of their own need open files, others do not.
func TestRoomFor(t *testing.T) {
	own, shared := &database.SessionFacts{Conns: true}, &database.SessionFacts{}
	for _, c := range []struct {
		facts *database.SessionFacts
		held  int
		limit uint64
		fits  bool
	}{{own, 1000, 1024, false}, {own, 524, 1024, true}, {own, 525, 1024, false}, {own, 20_000, 0, true}, {shared, 20_000, 1024, true}} {
		if err := roomFor(c.facts, c.held, c.limit); (err == nil) != c.fits {
			t.Errorf("%d sessions with connections of their own (%v) and %d open files: %v, want room: %v", c.held, c.facts.Conns, c.limit, err, c.fits)
		}
	}
	if openFiles() == 0 {
		t.Error("the limit of open files is not known")
	}
}
