package sysmetrics

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/prometheus/procfs"
)

// HostFacts describes this machine. Facts that cannot be read are empty and named in the error; the
// others are valid.
func HostFacts() (results.Host, error) {
	return hostFacts(&files{root: "/proc"}, "/etc/os-release")
}

func hostFacts(f *files, osRelease string) (results.Host, error) {
	host := results.Host{OS: runtime.GOOS, CPUs: runtime.NumCPU()}
	var problems []error
	note := func(what string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("read the %s: %w", what, err))
		}
	}
	var err error
	host.Name, err = os.Hostname()
	note("host's name", err)
	if data, err := os.ReadFile(osRelease); err == nil {
		host.OS = parseOSRelease(data, host.OS)
	}
	host.Kernel, err = f.line("sys", "kernel", "osrelease")
	note("kernel's release", err)
	host.CPUModel, host.OnlineCPUs, err = f.processors()
	note("CPU's model", err)
	host.CPUQuota, err = f.cpuQuota()
	note("CPU quota", err)
	host.MemoryBytes, err = f.memory()
	note("memory's size", err)
	host.BootID, err = f.bootID()
	note("boot id", err)
	host.NetNS, err = f.netNS()
	note("network namespace", err)
	host.CPUGovernor = governor("/sys")
	timeService(&host)
	host.TimeService = f.runningTimeServices()
	return host, errors.Join(problems...)
}

// governor returns the frequency governor for the first processor; "" if the kernel does not
// control the frequency.
func governor(sys string) string {
	data, err := os.ReadFile(filepath.Join(sys, "devices", "system", "cpu", "cpu0", "cpufreq", "scaling_governor"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// parseOSRelease returns the human-readable name in os-release(5).
func parseOSRelease(data []byte, otherwise string) string {
	for line := range bytes.Lines(data) {
		if value, ok := strings.CutPrefix(string(line), "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return otherwise
}

// processors returns the number of processors online and the first one's model, or the architecture
// if cpuinfo names no model.
func (f *files) processors() (model string, online int, err error) {
	fs, err := procfs.NewFS(f.root)
	if err != nil {
		return "", 0, err
	}
	cpus, err := models(fs)
	if err != nil {
		return "", 0, err
	}
	if len(cpus) == 0 || cpus[0] == "" {
		return runtime.GOARCH, len(cpus), nil
	}
	return cpus[0], len(cpus), nil
}

// memory returns the machine's memory in bytes.
func (f *files) memory() (int64, error) {
	fs, err := procfs.NewFS(f.root)
	if err != nil {
		return 0, err
	}
	info, err := fs.Meminfo()
	if err != nil {
		return 0, err
	}
	if info.MemTotalBytes == nil {
		return 0, errors.New("no MemTotal in meminfo")
	}
	return int64(*info.MemTotalBytes), nil
}

// bootID differs between machines and between boots on the same machine.
func (f *files) bootID() (string, error) { return f.line("sys", "kernel", "random", "boot_id") }

// netNS names the network namespace of this process, such as "net:[4026531840]".
func (f *files) netNS() (string, error) { return os.Readlink(f.path("self", "ns", "net")) }

// line reads a one-line file.
func (f *files) line(elem ...string) (string, error) {
	data, err := f.read(elem...)
	return strings.TrimSpace(string(data)), err
}
