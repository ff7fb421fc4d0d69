package sysmetrics

import (
	"bytes"
	"fmt"
	"strconv"
)

// deviceCounters are one line of /proc/diskstats: whole-device totals since
// boot, in requests, sectors of 512 bytes and milliseconds.
type deviceCounters struct {
	name                                string
	major, minor                        uint32
	reads, sectorsRead, millisRead      int64
	writes, sectorsWritten, millisWrite int64
}

func (f *files) diskstats() ([]deviceCounters, error) {
	data, err := f.read("diskstats")
	if err != nil {
		return nil, err
	}
	return parseDiskstats(data)
}

// device reads the counters of one device.
func (f *files) device(name string) (deviceCounters, error) {
	data, err := f.read("diskstats")
	if err != nil {
		return deviceCounters{}, err
	}
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) > 2 && string(fields[2]) == name {
			return parseDevice(fields)
		}
	}
	return deviceCounters{}, fmt.Errorf("no device %q in diskstats", name)
}

func parseDiskstats(data []byte) ([]deviceCounters, error) {
	var all []deviceCounters
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		d, err := parseDevice(fields)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// parseDevice reads the fields of one line. Later kernels append more of them.
func parseDevice(fields [][]byte) (deviceCounters, error) {
	if len(fields) < 11 {
		return deviceCounters{}, fmt.Errorf("only %d fields in a line of diskstats", len(fields))
	}
	d := deviceCounters{name: string(fields[2])}
	var bad error
	number := func(i int) int64 {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil && bad == nil {
			bad = fmt.Errorf("device %s in diskstats: field %d: %w", d.name, i+1, err)
		}
		return n
	}
	d.major, d.minor = uint32(number(0)), uint32(number(1))
	d.reads, d.sectorsRead, d.millisRead = number(3), number(5), number(6)
	d.writes, d.sectorsWritten, d.millisWrite = number(7), number(9), number(10)
	return d, bad
}
