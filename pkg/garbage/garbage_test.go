package garbage

import (
	"runtime/debug"
	"testing"
)

func TestCollectAt(t *testing.T) {
	check := func(what string, want int) {
		t.Helper()
		got := debug.SetGCPercent(-1)
		if debug.SetGCPercent(got); got != want {
			t.Errorf("%s: garbage is collected at %d %%, want %d", what, got, want)
		}
	}
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(70))
	restore := CollectAt(30)
	check("sooner", 30)
	restore()
	check("after that", 70)
	t.Setenv("GOGC", "50")
	debug.SetGCPercent(50)
	defer CollectAt(30)()
	check("by the environment", 50)
}
