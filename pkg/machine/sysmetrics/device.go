package sysmetrics

import (
	"fmt"
	"os"
	"strings"
)

// CheckDevice returns an error if name is not a block device in this machine's statistics.
func CheckDevice(name string) error {
	data, err := os.ReadFile("/proc/diskstats")
	if err != nil {
		return fmt.Errorf("list block devices: %w", err)
	}
	var known []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		if fields[2] == name {
			return nil
		}
		known = append(known, fields[2])
	}
	return fmt.Errorf("must be a block device of this machine (%s), got %q", strings.Join(known, ", "), name)
}
