package sysmetrics

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// timeServices maps program names, as cut by the kernel, to time service names.
func timeServices() map[string]string {
	return map[string]string{
		"chronyd": "chronyd", "ntpd": "ntpd", "ptp4l": "ptp4l", "phc2sys": "phc2sys",
		"systemd-timesyn": "systemd-timesyncd",
	}
}

// runningTimeServices returns the time services among the visible processes; "" if there are no
// such services. A container may not see services on its machine.
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
