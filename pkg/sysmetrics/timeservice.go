package sysmetrics

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/results"
)

// timeService sets the facts about the machine's clock by the kernel's account, as
// adjtimex(2) returns it. They stay empty in a sandbox that does not allow the question.
func timeService(h *results.Host) {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err == nil {
		keptClock(h, &t)
	}
}

// keptClock sets the facts of an answer. The errors of a clock that nothing keeps are
// only defaults of the kernel.
func keptClock(h *results.Host, t *unix.Timex) {
	if t.Status&unix.STA_UNSYNC != 0 {
		h.ClockSync = "not synchronized"
		return
	}
	h.ClockSync = "synchronized"
	h.ClockMaxError, h.ClockEstError = micros(int64(t.Maxerror)), micros(int64(t.Esterror))
}

// timeServices are the names of programs that keep a clock, by what the kernel keeps of
// them.
func timeServices() map[string]string {
	return map[string]string{
		"chronyd": "chronyd", "ntpd": "ntpd", "ptp4l": "ptp4l", "phc2sys": "phc2sys",
		"systemd-timesyn": "systemd-timesyncd",
	}
}

// runningTimeServices returns the time services among the processes that can be seen, ""
// if there is none: a container may not see that of its machine.
func (f *files) runningTimeServices() string {
	entries, err := os.ReadDir(f.root)
	if err != nil {
		return ""
	}
	known := timeServices()
	var found []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		comm, err := f.line(e.Name(), "comm")
		if name := known[comm]; err == nil && name != "" && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return strings.Join(found, ", ")
}

// micros is a number of microseconds.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
