package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// conditions describes the versions, the machine and the time for the runs that have ended, and how
// busy the machine was before them.
func (o options) conditions(before string) string {
	return fmt.Sprintf("%s, %s; %s, %d processors, %s/%s, %s, with a load average of %s before", toolVersion(o.dbtester, "version"), runtime.Version(),
		cpuModel(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format(time.DateOnly), before)
}

// busy returns the load average over the last minute.
func busy() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(data), " ")
	return one
}

func cpuModel() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// toolVersion returns the first line a tool prints about itself.
func toolVersion(name string, arg string) string {
	text, _ := exec.Command(name, arg).CombinedOutput() // wrk exits with 1
	line, _, _ := strings.Cut(string(text), "\n")
	line, _, _ = strings.Cut(line, " Copyright")
	return strings.TrimSpace(line)
}
