package garbage

import (
	"runtime/debug"
	"testing"
)

func TestCollect(t *testing.T) {
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
	again := CollectAsUsual()
	check("as usual, after sooner", 100)
	again()
	check("after that", 30)
	restore()
	check("at the end", 70)
	first, second := CollectAt(30), CollectAt(50)
	load, other := CollectAsUsual(), CollectAsUsual()
	first()
	load()
	load()
	check("as usual for one of two", 100)
	other()
	check("the request that is left", 50)
	second()
	check("at the end of requests that overlapped", 70)
	for _, percent := range []int{-1, 400} {
		debug.SetGCPercent(percent)
		restore := CollectAsUsual()
		check("as usual, where it is collected later or never", percent)
		restore()
	}
	t.Setenv("GOGC", "50")
	debug.SetGCPercent(50)
	defer CollectAt(30)()
	defer CollectAsUsual()()
	check("by the environment", 50)
}
