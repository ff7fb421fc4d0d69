// Package garbage trades processor time for memory.
package garbage

import (
	"os"
	"runtime/debug"
)

// CollectAt has the process collect garbage when memory has grown by a percentage, until restore
// is called. The variable GOGC of the environment overrides it.
func CollectAt(percent int) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
