package sysmetrics

import (
	"os"
	"time"

	"github.com/prometheus/procfs"
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

// micros is a number of microseconds.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// datasync stores what was written to a file, but not its times.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// models returns the models of the processors online, "" for one without.
func models(fs procfs.FS) ([]string, error) {
	cpus, err := fs.CPUInfo()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(cpus))
	for i, c := range cpus {
		names[i] = c.ModelName
	}
	return names, nil
}
