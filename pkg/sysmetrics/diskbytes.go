package sysmetrics

import (
	"bytes"
	"fmt"
	"strconv"
)

// diskBytes are what a process caused to be read from and written to block
// devices, and the children it has waited for (/proc/PID/io). Written means
// handed to the page cache for a device, not yet on it.
type diskBytes struct{ read, write int64 }

func (f *files) diskBytes(pid int) (diskBytes, error) {
	data, err := f.read(strconv.Itoa(pid), "io")
	if err != nil {
		return diskBytes{}, err
	}
	d, err := parseDiskBytes(data)
	if err != nil {
		return diskBytes{}, fmt.Errorf("io of pid %d: %w", pid, err)
	}
	return d, nil
}

func parseDiskBytes(data []byte) (diskBytes, error) {
	d := diskBytes{read: -1, write: -1}
	for line := range bytes.Lines(data) {
		key, value, _ := bytes.Cut(line, []byte{':'})
		var into *int64
		switch string(key) {
		case "read_bytes":
			into = &d.read
		case "write_bytes":
			into = &d.write
		default:
			continue
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		if err != nil {
			return d, fmt.Errorf("%s: %w", key, err)
		}
		*into = n
	}
	if d.read < 0 || d.write < 0 {
		return d, fmt.Errorf("no read_bytes or write_bytes in %q", data)
	}
	return d, nil
}
