package control

import (
	"os"
	"runtime/debug"
)

// Garbage is collected when memory has grown by a percentage. While a load runs it is that of
// other Go programs: a client on a library, which makes much garbage, then costs what it
// costs applications. Control itself makes little, so at other times memory counts more.
const duringLoad, outsideLoad = 100, 30

// collectAt collects garbage at a percentage, unless the user has chosen one, until the
// function it returns is called. It is of the whole process.
func collectAt(percent int) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
