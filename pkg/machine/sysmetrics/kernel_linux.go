package sysmetrics

import (
	"os"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/results"
)

// timeService sets the facts about the machine clock, as returned by adjtimex(2). They stay empty
// in a sandbox that forbids the call.
func timeService(h *results.Host) {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err == nil {
		keptClock(h, &t)
	}
}

// keptClock sets the facts from an adjtimex result. Error bounds are only kernel defaults if the
// clock is not synchronized.
func keptClock(h *results.Host, t *unix.Timex) {
	if t.Status&unix.STA_UNSYNC != 0 {
		h.ClockSync = "not synchronized"
		return
	}
	h.ClockSync = "synchronized"
	h.ClockMaxError, h.ClockEstError = micros(int64(t.Maxerror)), micros(int64(t.Esterror))
}

// micros converts microseconds.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// datasync stores the data written to a file, without its times.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// models returns the online processor models; "" for an unnamed one.
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
