// Package garbage trades processor time for memory: it sets how far memory grows before garbage
// is collected. That is of the whole process, so it returns what undoes it. The variable GOGC
// of the environment overrides it.
package garbage

import (
	"os"
	"runtime/debug"
)

// CollectAt collects garbage when memory has grown by a percentage, until restore is called.
func CollectAt(percent int) (restore func()) {
	return change(func(int) int { return percent })
}

// CollectAsUsual collects garbage no sooner than other Go programs do, until restore is called.
func CollectAsUsual() (restore func()) {
	const usual = 100
	return change(func(before int) int {
		if before < 0 { // never
			return before
		}
		return max(before, usual)
	})
}

// change sets the percentage by the present one, unless the environment decides.
func change(to func(before int) int) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(-1)
	debug.SetGCPercent(to(before))
	return func() { debug.SetGCPercent(before) }
}
