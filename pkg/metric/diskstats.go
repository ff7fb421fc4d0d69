package metric

import (
	"bytes"
	"fmt"
)

// Metrics from /proc/diskstats.
const (
	ReadsCompleted  Name = "device_reads"
	SectorsRead     Name = "device_read_sectors"
	MillisReading   Name = "device_read_milliseconds"
	WritesCompleted Name = "device_writes"
	SectorsWritten  Name = "device_written_sectors"
	MillisWriting   Name = "device_write_milliseconds"
	MillisBusy      Name = "device_busy_milliseconds"
)

// SectorBytes is the unit in which the kernel counts sectors for every device
// (Documentation/admin-guide/iostats.rst).
const SectorBytes = 512

// deviceCounters reads /proc/diskstats: totals since boot.
func deviceCounters() Source {
	const sectors = "512-byte sectors"
	return Source{
		File: "diskstats",
		Metrics: []Metric{
			{Name: ReadsCompleted, Column: "READS-COMPLETED", Unit: "reads", Kind: Counter, Scope: Device, Help: "reads that the device completed"},
			{Name: SectorsRead, Column: "SECTORS-READ", Unit: sectors, Kind: Counter, Scope: Device, Help: "sectors that the device read"},
			{Name: MillisReading, Column: "MILLISECONDS(READS)", Unit: "ms", Kind: Counter, Scope: Device, Help: "time that reads took, summed over concurrent ones"},
			{Name: WritesCompleted, Column: "WRITES-COMPLETED", Unit: "writes", Kind: Counter, Scope: Device, Help: "writes that the device completed"},
			{Name: SectorsWritten, Column: "SECTORS-WRITTEN", Unit: sectors, Kind: Counter, Scope: Device, Help: "sectors that the device wrote"},
			{Name: MillisWriting, Column: "MILLISECONDS(WRITES)", Unit: "ms", Kind: Counter, Scope: Device, Help: "time that writes took, summed over concurrent ones"},
			{Name: MillisBusy, Column: "DEVICE-BUSY-MILLISECONDS", Unit: "ms", Kind: Counter, Scope: Device, Report: true, Optional: true,
				Help: "time in which the device had at least one request; a device that serves many at once may do more although it is busy all the time"},
		},
		Parse: parseDevice,
	}
}

// parseDevice finds the line for the device. Newer kernels append more fields.
func parseDevice(data []byte, device string, into []Reading) error {
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) < 3 || string(fields[2]) != device {
			continue
		}
		if len(fields) < 11 {
			return fmt.Errorf("only %d fields in a line of diskstats", len(fields))
		}
		for i, field := range []int{3, 5, 6, 7, 9, 10, 12} {
			if field >= len(fields) {
				break // a kernel may know no time
			}
			var err error
			if into[i].Value, err = parseCount(fields[field]); err != nil {
				return fmt.Errorf("device %s in diskstats: field %d: %w", device, field+1, err)
			}
		}
		return nil
	}
	return fmt.Errorf("no device %q in diskstats", device)
}
