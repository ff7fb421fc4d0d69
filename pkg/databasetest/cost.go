package databasetest

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ProcessCPU returns the user and system time of this process.
func ProcessCPU(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatalf("read the CPU time: %v", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// AnonKiB returns the anonymous memory of this process in KiB, after a collection.
func AnonKiB(b *testing.B) float64 {
	b.Helper()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatalf("read file: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "RssAnon:"); found {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				b.Fatalf("parse a number: %v", err)
			}
			return float64(n)
		}
	}
	b.Fatal("no RssAnon")
	return 0
}
