// Package resources describes what the processes of one member may use together, and
// what they used.
package resources

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// DefaultPeriod is that of container runtimes.
const DefaultPeriod = 100 * time.Millisecond

// Bounds of limits: those of the kernel for the period and for the time in it, and less
// memory than any database needs to start.
const (
	shortestPeriod = time.Millisecond
	longestPeriod  = time.Second
	leastQuota     = time.Millisecond
	mostCPUs       = 10_000
	leastMemory    = 16 << 20
)

// Limits are what the processes of a member may use together. The zero value has none.
type Limits struct {
	// CPUs is the processor time per time, 1 being one processor; 0 is no limit.
	CPUs float64 `json:"cpus,omitempty"`
	// Period is the time over which processor time is counted: processes that used theirs
	// up stand still until it ends.
	Period time.Duration `json:"period_ns,omitempty"`
	// MemoryBytes bounds the memory, the page cache of the processes' files included. 0 is
	// no limit.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
}

// Any reports whether there is a limit.
func (l Limits) Any() bool { return l.CPUs > 0 || l.MemoryBytes > 0 }

// Check returns every bound that the limits do not keep, each error beginning with the
// key of an experiment file.
func (l Limits) Check() error {
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case math.IsNaN(l.CPUs) || l.CPUs < 0 || l.CPUs > mostCPUs:
		refuse("cpus must be over 0 and at most %d, got %v", mostCPUs, l.CPUs)
	case l.CPUs == 0:
	case l.Period < shortestPeriod || l.Period > longestPeriod:
		refuse("period must be from %v to %v, got %v", shortestPeriod, longestPeriod, l.Period)
	case l.Quota() < leastQuota:
		refuse("cpus must give at least %v of processor time in a period of %v, got %v", leastQuota, l.Period, l.CPUs)
	}
	if l.MemoryBytes < 0 || l.MemoryBytes > 0 && l.MemoryBytes < leastMemory {
		refuse("memory must be at least %s, got %d bytes", humanize.IBytes(leastMemory), l.MemoryBytes)
	}
	return errors.Join(errs...)
}

// Quota is the processor time in a period, in whole microseconds.
func (l Limits) Quota() time.Duration {
	return time.Duration(math.Round(l.CPUs*float64(l.Period/time.Microsecond))) * time.Microsecond
}

// GoMaxProcs is how many threads of a Go program may run at once, 0 without a limit.
// Programs that were built before Go 1.25 do not derive it from their control group.
func (l Limits) GoMaxProcs() int { return int(math.Ceil(l.CPUs)) }

// GoMemLimit is the memory at which a Go program collects its garbage whatever GOGC is:
// 90 % of the limit, 0 without one. The rest is for what the program does not manage.
func (l Limits) GoMemLimit() int64 { return l.MemoryBytes / 10 * 9 }

// Env returns the environment by which Go programs keep the limits, as KEY=VALUE.
func (l Limits) Env() []string {
	var env []string
	if n := l.GoMaxProcs(); n > 0 {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(n))
	}
	if n := l.GoMemLimit(); n > 0 {
		env = append(env, "GOMEMLIMIT="+strconv.FormatInt(n, 10))
	}
	return env
}

// String is such as "0.25 processors, 2 GB of memory".
func (l Limits) String() string {
	var parts []string
	if l.CPUs > 0 {
		parts = append(parts, l.CPUText())
	}
	if l.MemoryBytes > 0 {
		parts = append(parts, l.MemoryText()+" of memory")
	}
	return strings.Join(parts, ", ")
}

// CPUText is such as "0.25 processors", with the period if it is not the usual one.
func (l Limits) CPUText() string {
	text := strconv.FormatFloat(l.CPUs, 'f', -1, 64) + " processors"
	if l.CPUs == 1 {
		text = "1 processor"
	}
	if l.Period != DefaultPeriod {
		text += fmt.Sprintf(" in periods of %v", l.Period)
	}
	return text
}

// MemoryText is such as "2 GB", in powers of 1000.
func (l Limits) MemoryText() string { return humanize.Bytes(uint64(max(l.MemoryBytes, 0))) }

// Unknown is a number of [Use] that could not be read.
const Unknown = -1

// Use is what the processes of a member used from its start to its stop, by the
// kernel's own counts.
type Use struct {
	// Throttled counts the periods in which the processes stood still because they had
	// used up their processor time, ThrottledTime is for how long, summed over processors.
	Throttled     int64         `json:"throttled_periods"`
	ThrottledTime time.Duration `json:"throttled_ns"`
	// PeakBytes is the most memory, page cache included.
	PeakBytes int64 `json:"peak_bytes"`
	// OOMKills counts the processes that the kernel killed because of the limit.
	OOMKills int64 `json:"oom_kills"`
}
