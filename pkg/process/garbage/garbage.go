// Package garbage trades processor time for memory: it sets how far memory may grow before garbage
// is collected. The setting applies to the whole process, so each function returns another that
// restores it. The environment variable GOGC takes precedence.
package garbage

import (
	"os"
	"runtime/debug"
)

// CollectAt makes garbage collections start when memory has grown by a percentage, until restore is
// called.
func CollectAt(percent int) (restore func()) {
	return change(func(int) int { return percent })
}

// CollectAsUsual makes garbage collections start no sooner than in other Go programs, until restore
// is called.
func CollectAsUsual() (restore func()) {
	const usual = 100
	return change(func(before int) int {
		if before < 0 { // collection was off
			return before
		}
		return max(before, usual)
	})
}

// change computes the percentage from the current one, unless the environment sets it.
func change(to func(before int) int) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(-1)
	debug.SetGCPercent(to(before))
	return func() { debug.SetGCPercent(before) }
}
