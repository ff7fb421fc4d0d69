package abilities

import "testing"

// Connections need open files, in addition to other files in a run.
func TestRoomFor(t *testing.T) {
	for _, c := range []struct {
		conns int
		limit uint64
		fits  bool
	}{{1000, 1024, false}, {524, 1024, true}, {525, 1024, false}, {20_000, 0, true}, {0, 10, true}} {
		if err := RoomFor("sessions", c.conns, c.limit); (err == nil) != c.fits {
			t.Errorf("%d connections and %d open files: %v, want room: %v", c.conns, c.limit, err, c.fits)
		}
	}
	if OpenFiles() == 0 {
		t.Error("the limit of open files is not known")
	}
}
