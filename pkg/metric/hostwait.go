package metric

import (
	"bytes"
	"errors"
	"fmt"
)

// Processor time that no process on the machine used.
const (
	HostStealSeconds  Name = "host_steal_seconds"
	HostIOWaitSeconds Name = "host_iowait_seconds"
)

// hostWait reads the first line of /proc/stat, like hostCPU.
func hostWait() Source {
	return Source{
		File: "stat",
		Metrics: []Metric{
			{Name: HostStealSeconds, Column: "HOST-STEAL-SECONDS", Unit: "s", Kind: Counter, Scope: Host, Decimals: Exact, Report: true, Optional: true,
				Help: "time in which processors of the machine could have run something and another machine on the same hardware ran instead"},
			{Name: HostIOWaitSeconds, Column: "HOST-IOWAIT-SECONDS", Unit: "s", Kind: Counter, Scope: Host, Decimals: Exact, Report: true, Optional: true,
				Help: "time in which processors of the machine were idle while a process waited for a device"},
		},
		Divisor: ticksPerSecond,
		Parse:   parseHostWait,
	}
}

func parseHostWait(data []byte, _ string, into []Reading) error {
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return errors.New("stat must begin with a line of the times of all processors")
	}
	for i, field := range []int{8, 5} {
		n, err := parseCount(fields[field])
		if err != nil {
			return fmt.Errorf("times of all processors in stat: field %d: %w", field+1, err)
		}
		into[i].Value = n
	}
	return nil
}
