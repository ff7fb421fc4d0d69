// Package resources describes the limits on the processes of a member, and their usage.
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

// DefaultPeriod is the usual period in container runtimes.
const DefaultPeriod = 100 * time.Millisecond

// Bounds for limits: the kernel's bounds for the period and the quota, and less memory than any
// database needs to start.
const (
	shortestPeriod = time.Millisecond
	longestPeriod  = time.Second
	leastQuota     = time.Millisecond
	mostCPUs       = 10_000
	leastMemory    = 16 << 20
)

// Limits bound what all processes of a member use together. The zero value means no limits.
type Limits struct {
	// CPUs is the number of processors that may be used; 0 means no limit.
	CPUs float64 `json:"cpus,omitempty"`
	// Period is the time over which processor time is counted. Processes that have used up their
	// share are stopped until it ends.
	Period time.Duration `json:"period_ns,omitempty"`
	// MemoryBytes limits memory, including the page cache of the processes' files. 0 means no
	// limit.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
}

// Any reports whether there is a limit.
func (l Limits) Any() bool { return l.CPUs > 0 || l.MemoryBytes > 0 }

// Check returns every violated bound. Each error begins with the key in the experiment file.
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

// Quota returns the processor time per period, in whole microseconds.
func (l Limits) Quota() time.Duration {
	return time.Duration(math.Round(l.CPUs*float64(l.Period/time.Microsecond))) * time.Microsecond
}

// GoMaxProcs returns the number of threads a Go program may run at the same time; 0 without a
// limit. Programs built before Go 1.25 do not derive it from their control group.
func (l Limits) GoMaxProcs() int { return int(math.Ceil(l.CPUs)) }

// GoMemLimit returns the memory at which a Go program collects garbage regardless of GOGC: 90 % of
// the limit, 0 without a limit. The rest is for memory Go does not manage.
func (l Limits) GoMemLimit() int64 { return l.MemoryBytes / 10 * 9 }

// Env returns the environment, as KEY=VALUE, that makes Go programs keep the limits.
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

// String formats the limits, for example "0.25 processors, 2 GB of memory".
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

// CPUText formats the processor limit, for example "0.25 processors", with the period if it is not
// the default.
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

// MemoryText formats the memory limit, for example "2 GB", in powers of 1000.
func (l Limits) MemoryText() string { return humanize.Bytes(uint64(max(l.MemoryBytes, 0))) }

// Unknown is a number in [Use] that could not be read.
const Unknown = -1

// Use counts the resources used by the processes of a member from its start to its stop, as counted
// by the kernel.
type Use struct {
	// Throttled counts the periods in which the processes were stopped because they had used up
	// their processor time. ThrottledTime is the total time, summed over processors.
	Throttled     int64         `json:"throttled_periods"`
	ThrottledTime time.Duration `json:"throttled_ns"`
	// PeakBytes is the peak memory, including page cache.
	PeakBytes int64 `json:"peak_bytes"`
	// OOMKills counts the processes the kernel killed because of the limit.
	OOMKills int64 `json:"oom_kills"`
}
