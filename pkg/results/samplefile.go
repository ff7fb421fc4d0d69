package results

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// firstOwnColumn is the first column after the classic fifty: a file without it
// is the classic tool's.
const firstOwnColumn = "PERIOD-NANOSECOND"

// sampleRow is one row of a system-metrics CSV: a sample and the one written
// before it, nil in the first row.
type sampleRow struct {
	Sample
	before *Sample
}

// sampleColumns are the columns of a system-metrics CSV: the classic fifty in
// the classic order and spelling, then ours. What could not be read is empty.
func sampleColumns() []column[sampleRow] {
	return slices.Concat(processColumns(), deviceColumns(), interfaceColumns(), deltaColumns(), []column[sampleRow]{
		countColumn("EXTRA", func(r *sampleRow) *int64 { return &r.Clients }),
	}, ownColumns())
}

// processColumns are those of the process tree and the load average.
func processColumns() []column[sampleRow] {
	return []column[sampleRow]{
		{name: "UNIX-NANOSECOND", format: formatNanosecond, parse: parseNanosecond},
		{name: "UNIX-SECOND", format: formatSecond, parse: parseSecond},
		textColumn("PROGRAM", func(r *sampleRow) *string { return &r.Program }),
		textColumn("STATE", func(r *sampleRow) *string { return &r.State }),
		intColumn("PID", func(r *sampleRow) *int { return &r.PID }),
		intColumn("PPID", func(r *sampleRow) *int { return &r.PPID }),
		{name: "CPU", format: func(b []byte, r *sampleRow) []byte {
			if r.CPUPercent < 0 {
				return b
			}
			return fmt.Appendf(b, "%.2f %%", r.CPUPercent)
		}},
		humanBytesColumn("VMRSS", func(r *sampleRow) (int64, bool) { return r.RSSBytes, r.RSSBytes >= 0 }),
		humanBytesColumn("VMSIZE", func(r *sampleRow) (int64, bool) { return r.VirtualBytes, r.VirtualBytes >= 0 }),
		countColumn("FD", func(r *sampleRow) *int64 { return &r.FDs }),
		countColumn("THREADS", func(r *sampleRow) *int64 { return &r.Threads }),
		countColumn("VOLUNTARY-CTXT-SWITCHES", func(r *sampleRow) *int64 { return &r.VoluntarySwitches }),
		countColumn("NON-VOLUNTARY-CTXT-SWITCHES", func(r *sampleRow) *int64 { return &r.NonvoluntarySwitches }),
		gaugeColumn("CPU-NUM", 2, func(r *sampleRow) *float64 { return &r.CPUPercent }),
		countColumn("VMRSS-NUM", func(r *sampleRow) *int64 { return &r.RSSBytes }),
		countColumn("VMSIZE-NUM", func(r *sampleRow) *int64 { return &r.VirtualBytes }),
		gaugeColumn("LOAD-AVERAGE-1-MINUTE", 2, func(r *sampleRow) *float64 { return &r.Load1 }),
		gaugeColumn("LOAD-AVERAGE-5-MINUTE", 2, func(r *sampleRow) *float64 { return &r.Load5 }),
		gaugeColumn("LOAD-AVERAGE-15-MINUTE", 2, func(r *sampleRow) *float64 { return &r.Load15 }),
	}
}

// deviceColumns are those of the block device.
func deviceColumns() []column[sampleRow] {
	return []column[sampleRow]{
		textColumn("DEVICE", func(r *sampleRow) *string { return &r.Device }),
		countColumn("READS-COMPLETED", func(r *sampleRow) *int64 { return &r.ReadsCompleted }),
		countColumn("SECTORS-READ", func(r *sampleRow) *int64 { return &r.SectorsRead }),
		humanMillisColumn("TIME(READS)", func(r *sampleRow) int64 { return r.MillisReading }),
		countColumn("WRITES-COMPLETED", func(r *sampleRow) *int64 { return &r.WritesCompleted }),
		countColumn("SECTORS-WRITTEN", func(r *sampleRow) *int64 { return &r.SectorsWritten }),
		humanMillisColumn("TIME(WRITES)", func(r *sampleRow) int64 { return r.MillisWriting }),
		countColumn("MILLISECONDS(READS)", func(r *sampleRow) *int64 { return &r.MillisReading }),
		countColumn("MILLISECONDS(WRITES)", func(r *sampleRow) *int64 { return &r.MillisWriting }),
	}
}

// interfaceColumns are those of the network interface.
func interfaceColumns() []column[sampleRow] {
	return []column[sampleRow]{
		textColumn("INTERFACE", func(r *sampleRow) *string { return &r.Interface }),
		humanBytesColumn("RECEIVE-BYTES", func(r *sampleRow) (int64, bool) { return r.ReceiveBytes, r.ReceiveBytes >= 0 }),
		countColumn("RECEIVE-PACKETS", func(r *sampleRow) *int64 { return &r.ReceivePackets }),
		humanBytesColumn("TRANSMIT-BYTES", func(r *sampleRow) (int64, bool) { return r.TransmitBytes, r.TransmitBytes >= 0 }),
		countColumn("TRANSMIT-PACKETS", func(r *sampleRow) *int64 { return &r.TransmitPackets }),
		countColumn("RECEIVE-BYTES-NUM", func(r *sampleRow) *int64 { return &r.ReceiveBytes }),
		countColumn("TRANSMIT-BYTES-NUM", func(r *sampleRow) *int64 { return &r.TransmitBytes }),
	}
}

// deltaColumns are the growth of counters since the row before, so that a column
// sums to its counter's growth over the file. A counter that was reset gives one
// negative delta.
func deltaColumns() []column[sampleRow] {
	reads := func(s *Sample) int64 { return s.ReadsCompleted }
	sectorsRead := func(s *Sample) int64 { return s.SectorsRead }
	writes := func(s *Sample) int64 { return s.WritesCompleted }
	sectorsWritten := func(s *Sample) int64 { return s.SectorsWritten }
	received := func(s *Sample) int64 { return s.ReceiveBytes }
	transmitted := func(s *Sample) int64 { return s.TransmitBytes }
	return []column[sampleRow]{
		deltaColumn("READS-COMPLETED-DELTA", 1, reads),
		deltaColumn("SECTORS-READ-DELTA", 1, sectorsRead),
		deltaColumn("WRITES-COMPLETED-DELTA", 1, writes),
		deltaColumn("SECTORS-WRITTEN-DELTA", 1, sectorsWritten),
		deltaColumn("READ-BYTES-DELTA", SectorBytes, sectorsRead),
		megabytesColumn("READ-MEGABYTES-DELTA", sectorsRead),
		deltaColumn("WRITE-BYTES-DELTA", SectorBytes, sectorsWritten),
		megabytesColumn("WRITE-MEGABYTES-DELTA", sectorsWritten),
		humanBytesColumn("RECEIVE-BYTES-DELTA", func(r *sampleRow) (int64, bool) { return r.delta(received) }),
		deltaColumn("RECEIVE-PACKETS-DELTA", 1, func(s *Sample) int64 { return s.ReceivePackets }),
		humanBytesColumn("TRANSMIT-BYTES-DELTA", func(r *sampleRow) (int64, bool) { return r.delta(transmitted) }),
		deltaColumn("TRANSMIT-PACKETS-DELTA", 1, func(s *Sample) int64 { return s.TransmitPackets }),
		deltaColumn("RECEIVE-BYTES-NUM-DELTA", 1, received),
		deltaColumn("TRANSMIT-BYTES-NUM-DELTA", 1, transmitted),
	}
}

// ownColumns are those the classic tool did not have.
func ownColumns() []column[sampleRow] {
	columns := []column[sampleRow]{
		countColumn(firstOwnColumn, func(r *sampleRow) *int64 { return &r.PeriodNS }),
		gaugeColumn("CPU-SECONDS", -1, func(r *sampleRow) *float64 { return &r.CPUSeconds }),
		countColumn("RSS-ANON-BYTES", func(r *sampleRow) *int64 { return &r.RSSAnonBytes }),
		countColumn("PEAK-RSS-BYTES", func(r *sampleRow) *int64 { return &r.PeakRSSBytes }),
		countColumn("PROCESSES", func(r *sampleRow) *int64 { return &r.Processes }),
		countColumn("PROCESS-READ-BYTES", func(r *sampleRow) *int64 { return &r.ReadBytes }),
		countColumn("PROCESS-WRITE-BYTES", func(r *sampleRow) *int64 { return &r.WriteBytes }),
		textColumn("BOOT-ID", func(r *sampleRow) *string { return &r.BootID }),
		textColumn("NETWORK-NAMESPACE", func(r *sampleRow) *string { return &r.NetNS }),
	}
	for i := range columns {
		columns[i].optional = true
	}
	return columns
}

// delta returns a counter's growth since the row before, 0 in the first row. It
// is unknown if either reading is.
func (r *sampleRow) delta(counter func(*Sample) int64) (growth int64, known bool) {
	now := counter(&r.Sample)
	if now < 0 {
		return 0, false
	}
	if r.before == nil {
		return 0, true
	}
	before := counter(r.before)
	return now - before, before >= 0
}

// deltaColumn is a counter's growth in units of the counter times scale.
func deltaColumn(name string, scale int64, counter func(*Sample) int64) column[sampleRow] {
	return column[sampleRow]{name: name, format: func(b []byte, r *sampleRow) []byte {
		d, known := r.delta(counter)
		if !known {
			return b
		}
		return strconv.AppendInt(b, d*scale, 10)
	}}
}

// megabytesColumn is the growth of a counter of sectors in 10^6 bytes, exact to
// the byte.
func megabytesColumn(name string, sectors func(*Sample) int64) column[sampleRow] {
	return column[sampleRow]{name: name, format: func(b []byte, r *sampleRow) []byte {
		d, known := r.delta(sectors)
		if !known {
			return b
		}
		return strconv.AppendFloat(b, float64(d*SectorBytes)/1e6, 'f', 6, 64)
	}}
}

// humanBytesColumn is a number of bytes for people, in decimal units as the
// classic tool prints them.
func humanBytesColumn(name string, value func(*sampleRow) (bytes int64, known bool)) column[sampleRow] {
	return column[sampleRow]{name: name, format: func(b []byte, r *sampleRow) []byte {
		v, known := value(r)
		switch {
		case !known:
			return b
		case v < 0:
			return append(append(b, '-'), humanize.Bytes(uint64(-v))...)
		default:
			return append(b, humanize.Bytes(uint64(v))...)
		}
	}}
}

// humanMillisColumn is a duration for people, such as "2 minutes".
func humanMillisColumn(name string, millis func(*sampleRow) int64) column[sampleRow] {
	return column[sampleRow]{name: name, format: func(b []byte, r *sampleRow) []byte {
		ms := millis(r)
		switch {
		case ms < 0:
			return b
		case ms < 1000:
			return append(b, "0 seconds"...)
		default:
			text := humanize.RelTime(time.Time{}, time.Time{}.Add(time.Duration(ms)*time.Millisecond), "", "")
			return append(b, strings.TrimSpace(text)...)
		}
	}}
}

// countColumn holds a number that is -1 in memory and empty in the file when it
// is not known.
func countColumn(name string, at func(*sampleRow) *int64) column[sampleRow] {
	return column[sampleRow]{
		name: name,
		format: func(b []byte, r *sampleRow) []byte {
			if *at(r) < 0 {
				return b
			}
			return strconv.AppendInt(b, *at(r), 10)
		},
		parse: func(r *sampleRow, field string) (err error) {
			if *at(r) = -1; field != "" {
				*at(r), err = parseInt(field)
			}
			return err
		},
	}
}

// gaugeColumn is [countColumn] with decimals; -1 decimals keep the last bit.
func gaugeColumn(name string, decimals int, at func(*sampleRow) *float64) column[sampleRow] {
	return column[sampleRow]{
		name: name,
		format: func(b []byte, r *sampleRow) []byte {
			if *at(r) < 0 {
				return b
			}
			return strconv.AppendFloat(b, *at(r), 'f', decimals, 64)
		},
		parse: func(r *sampleRow, field string) (err error) {
			if *at(r) = -1; field != "" {
				*at(r), err = parseFloat(field)
			}
			return err
		},
	}
}

// formatNanosecond writes 0 for a sample that was made up, as the classic tool
// does.
func formatNanosecond(b []byte, r *sampleRow) []byte {
	if r.Interpolated {
		return append(b, '0')
	}
	return strconv.AppendInt(b, r.UnixNano, 10)
}

func parseNanosecond(r *sampleRow, field string) (err error) {
	r.UnixNano, err = parseInt(field)
	r.Interpolated = r.UnixNano == 0
	return err
}

func formatSecond(b []byte, r *sampleRow) []byte { return strconv.AppendInt(b, r.Second(), 10) }

// parseSecond comes after parseNanosecond: the second counts where that is 0.
func parseSecond(r *sampleRow, field string) error {
	second, err := parseInt(field)
	if r.Interpolated {
		r.UnixNano = second * int64(time.Second)
	}
	return err
}

// SampleWriter appends to a system-metrics CSV. It is not safe for concurrent
// use.
type SampleWriter struct {
	table  tableWriter[sampleRow]
	before *Sample
}

// NewSampleWriter opens or creates the file; a new one gets its header at once,
// and in an old one deltas go on from its last row.
func NewSampleWriter(path string) (*SampleWriter, error) {
	old, err := ReadSamples(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrTruncated) {
		return nil, err
	}
	table, err := newTableWriter(path, sampleColumns())
	if err != nil {
		return nil, err
	}
	w := &SampleWriter{table: table}
	if len(old) > 0 {
		w.before = &old[len(old)-1]
	}
	return w, nil
}

// Write appends one row, its DELTA columns against the row written before, and
// returns when the kernel has it. After an error every Write returns that error.
func (w *SampleWriter) Write(s Sample) error {
	if err := w.table.write([]sampleRow{{s, w.before}}); err != nil {
		return err
	}
	w.before = &s
	return nil
}

// Close closes the file.
func (w *SampleWriter) Close() error { return w.table.rows.close() }

// ReadSamples reads a system-metrics CSV, ours or the classic tool's
// ([Sample.Classic] tells which). DELTA columns and texts made from numbers are
// not read: they follow from the rest. Its errors are those of [ReadIntervals].
func ReadSamples(path string) ([]Sample, error) {
	rows, err := readTable(path, sampleColumns(), func(header []string) sampleRow {
		if slices.Contains(header, firstOwnColumn) {
			return sampleRow{}
		}
		return sampleRow{Sample: Sample{
			PeriodNS: -1, CPUSeconds: -1, RSSAnonBytes: -1, PeakRSSBytes: -1,
			Processes: -1, ReadBytes: -1, WriteBytes: -1, Classic: true,
		}}
	})
	samples := make([]Sample, len(rows))
	for i := range rows {
		samples[i] = rows[i].Sample
	}
	return samples, err
}

// WriteInterpolated writes samples, such as [Interpolate] returns, as a
// system-metrics CSV, replacing the file whole. DELTA columns are differences of
// the rows written, so each sums to its counter's growth from first to last row.
func WriteInterpolated(path string, samples []Sample) error {
	return replaceFile(path, sampleTable(samples))
}

func sampleTable(samples []Sample) []byte {
	columns := sampleColumns()
	b := headerLine(columns)
	for i := range samples {
		row := sampleRow{Sample: samples[i]}
		if i > 0 {
			row.before = &samples[i-1]
		}
		b = appendRow(b, columns, &row)
	}
	return b
}
