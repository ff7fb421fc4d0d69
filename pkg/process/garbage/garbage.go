// Package garbage trades processor time for memory: it sets how far memory may grow before garbage
// is collected. The setting applies to the whole process, so each function returns another that
// ends its request. Requests by several goroutines may overlap; when the last one ends, the setting
// is as it was before the first. The environment variable GOGC takes precedence.
package garbage

import (
	"os"
	"runtime/debug"
	"slices"
	"sync"
)

// usual is how far memory grows in other Go programs, in percent.
const usual = 100

// request asks for a percentage, or with asUsual for at least the usual one.
type request struct {
	percent int
	asUsual bool
}

// requests holds the requests that have not ended.
var requests struct {
	mu     sync.Mutex
	all    []*request
	before int // the setting without them
}

// CollectAt makes garbage collections start when memory has grown by a percentage, until end is
// called. If there are several percentages, the lowest counts.
func CollectAt(percent int) (end func()) { return add(&request{percent: percent}) }

// CollectAsUsual makes garbage collections start no sooner than in other Go programs, until end is
// called. It takes precedence over CollectAt.
func CollectAsUsual() (end func()) { return add(&request{asUsual: true}) }

func add(r *request) (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	requests.mu.Lock()
	defer requests.mu.Unlock()
	if len(requests.all) == 0 {
		requests.before = debug.SetGCPercent(-1)
	}
	requests.all = append(requests.all, r)
	debug.SetGCPercent(resulting(requests.before, requests.all))
	return sync.OnceFunc(func() {
		requests.mu.Lock()
		defer requests.mu.Unlock()
		requests.all = slices.DeleteFunc(requests.all, func(o *request) bool { return o == r })
		debug.SetGCPercent(resulting(requests.before, requests.all))
	})
}

// resulting returns the percentage that results from a setting and some requests.
func resulting(before int, all []*request) int {
	percent, asUsual := before, false
	var asked []int
	for _, r := range all {
		if r.asUsual {
			asUsual = true
		} else {
			asked = append(asked, r.percent)
		}
	}
	if len(asked) > 0 {
		percent = slices.Min(asked)
	}
	if asUsual && percent >= 0 { // below 0 collection is off
		return max(percent, usual)
	}
	return percent
}
