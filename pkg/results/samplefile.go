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

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/metric"
)

// firstOwnColumn is the first column after the classic fifty: a file without it
// comes from the classic tool.
const firstOwnColumn = "PERIOD-NANOSECOND"

// sampleRow is one row of a system-metrics CSV: a sample and the previously written
// one, nil in the first row.
type sampleRow struct {
	Sample
	before *Sample
}

// sampleColumns returns the columns of a system-metrics CSV: the classic fifty in the classic
// order and spelling, then ours. A value that could not be read is empty. A metric without a
// place among these columns has its column after them.
func sampleColumns() []linefile.Column[sampleRow] {
	columns := slices.Concat(processColumns(), deviceColumns(), interfaceColumns(), deltaColumns(),
		[]linefile.Column[sampleRow]{metricColumn(metric.Clients)}, ownColumns())
	for _, m := range metric.System().Metrics() {
		if !slices.ContainsFunc(columns, func(c linefile.Column[sampleRow]) bool { return c.Name == m.Column }) {
			columns = append(columns, optional(metricColumn(m.Name)))
		}
		if m.Name == metric.HostCPUSeconds { // files from earlier versions end here
			columns = append(columns, optional(linefile.TextColumn("CGROUP", func(r *sampleRow) *string { return &r.Group })))
		}
	}
	return columns
}

// processColumns returns the columns for the process tree and the load average.
func processColumns() []linefile.Column[sampleRow] {
	return []linefile.Column[sampleRow]{
		{Name: "UNIX-NANOSECOND", Format: formatNanosecond, Parse: parseNanosecond},
		{Name: "UNIX-SECOND", Format: formatSecond, Parse: parseSecond},
		linefile.TextColumn("PROGRAM", func(r *sampleRow) *string { return &r.Program }),
		linefile.TextColumn("STATE", func(r *sampleRow) *string { return &r.State }),
		linefile.IntColumn("PID", func(r *sampleRow) *int { return &r.PID }),
		linefile.IntColumn("PPID", func(r *sampleRow) *int { return &r.PPID }),
		{Name: "CPU", Format: func(b []byte, r *sampleRow) []byte {
			percent := r.Get(metric.CPUPercent)
			if percent < 0 {
				return b
			}
			return fmt.Appendf(b, "%.2f %%", percent)
		}},
		humanBytesColumn("VMRSS", now(metric.RSSBytes)),
		humanBytesColumn("VMSIZE", now(metric.VirtualBytes)),
		metricColumn(metric.FDs),
		metricColumn(metric.Threads),
		metricColumn(metric.VoluntarySwitches),
		metricColumn(metric.NonvoluntarySwitches),
		metricColumn(metric.CPUPercent),
		metricColumn(metric.RSSBytes),
		metricColumn(metric.VirtualBytes),
		metricColumn(metric.Load1),
		metricColumn(metric.Load5),
		metricColumn(metric.Load15),
	}
}

// deviceColumns returns the columns for the block device.
func deviceColumns() []linefile.Column[sampleRow] {
	return []linefile.Column[sampleRow]{
		linefile.TextColumn("DEVICE", func(r *sampleRow) *string { return &r.Device }),
		metricColumn(metric.ReadsCompleted),
		metricColumn(metric.SectorsRead),
		humanMillisColumn("TIME(READS)", metric.MillisReading),
		metricColumn(metric.WritesCompleted),
		metricColumn(metric.SectorsWritten),
		humanMillisColumn("TIME(WRITES)", metric.MillisWriting),
		metricColumn(metric.MillisReading),
		metricColumn(metric.MillisWriting),
	}
}

// interfaceColumns returns the columns for the network interface.
func interfaceColumns() []linefile.Column[sampleRow] {
	return []linefile.Column[sampleRow]{
		linefile.TextColumn("INTERFACE", func(r *sampleRow) *string { return &r.Interface }),
		humanBytesColumn("RECEIVE-BYTES", now(metric.ReceiveBytes)),
		metricColumn(metric.ReceivePackets),
		humanBytesColumn("TRANSMIT-BYTES", now(metric.TransmitBytes)),
		metricColumn(metric.TransmitPackets),
		metricColumn(metric.ReceiveBytes),
		metricColumn(metric.TransmitBytes),
	}
}

// deltaColumns declares counter growth since the row before, so a column sums to its counter's
// growth over the file. A counter that was reset gives one negative delta.
func deltaColumns() []linefile.Column[sampleRow] {
	return []linefile.Column[sampleRow]{
		deltaColumn("READS-COMPLETED-DELTA", 1, metric.ReadsCompleted),
		deltaColumn("SECTORS-READ-DELTA", 1, metric.SectorsRead),
		deltaColumn("WRITES-COMPLETED-DELTA", 1, metric.WritesCompleted),
		deltaColumn("SECTORS-WRITTEN-DELTA", 1, metric.SectorsWritten),
		deltaColumn("READ-BYTES-DELTA", metric.SectorBytes, metric.SectorsRead),
		megabytesColumn("READ-MEGABYTES-DELTA", metric.SectorsRead),
		deltaColumn("WRITE-BYTES-DELTA", metric.SectorBytes, metric.SectorsWritten),
		megabytesColumn("WRITE-MEGABYTES-DELTA", metric.SectorsWritten),
		humanBytesColumn("RECEIVE-BYTES-DELTA", growth(metric.ReceiveBytes)),
		deltaColumn("RECEIVE-PACKETS-DELTA", 1, metric.ReceivePackets),
		humanBytesColumn("TRANSMIT-BYTES-DELTA", growth(metric.TransmitBytes)),
		deltaColumn("TRANSMIT-PACKETS-DELTA", 1, metric.TransmitPackets),
		deltaColumn("RECEIVE-BYTES-NUM-DELTA", 1, metric.ReceiveBytes),
		deltaColumn("TRANSMIT-BYTES-NUM-DELTA", 1, metric.TransmitBytes),
	}
}

// ownColumns returns the oldest columns missing from the classic tool.
func ownColumns() []linefile.Column[sampleRow] {
	columns := []linefile.Column[sampleRow]{
		{Name: firstOwnColumn, Format: formatPeriod, Parse: parsePeriod},
		metricColumn(metric.CPUSeconds),
		metricColumn(metric.RSSAnonBytes),
		metricColumn(metric.PeakRSSBytes),
		metricColumn(metric.Processes),
		metricColumn(metric.ReadBytes),
		metricColumn(metric.WriteBytes),
		linefile.TextColumn("BOOT-ID", func(r *sampleRow) *string { return &r.BootID }),
		linefile.TextColumn("NETWORK-NAMESPACE", func(r *sampleRow) *string { return &r.NetNS }),
	}
	for i := range columns {
		columns[i] = optional(columns[i])
	}
	return columns
}

// now and growth are a number in a row: the value of a metric, and its growth since the row before.
func now(n metric.Name) func(*sampleRow) (v int64, known bool) {
	return func(r *sampleRow) (int64, bool) { v := r.Get(n); return int64(v), v >= 0 }
}

func growth(n metric.Name) func(*sampleRow) (v int64, known bool) {
	return func(r *sampleRow) (int64, bool) { return r.delta(n) }
}

// delta returns the growth of a counter since the row before, 0 in the first row. It is unknown if
// either reading is.
func (r *sampleRow) delta(counter metric.Name) (growth int64, known bool) {
	now := r.Get(counter)
	if now < 0 {
		return 0, false
	}
	if r.before == nil {
		return 0, true
	}
	before := r.before.Get(counter)
	return int64(now) - int64(before), before >= 0
}

// deltaColumn declares a column for a counter's growth, in its units times scale.
func deltaColumn(name string, scale int64, counter metric.Name) linefile.Column[sampleRow] {
	return linefile.Column[sampleRow]{Name: name, Format: func(b []byte, r *sampleRow) []byte {
		d, known := r.delta(counter)
		if !known {
			return b
		}
		return strconv.AppendInt(b, d*scale, 10)
	}}
}

// megabytesColumn declares a column for a sector counter's growth in 10^6 bytes, exact to the byte.
func megabytesColumn(name string, sectors metric.Name) linefile.Column[sampleRow] {
	return linefile.Column[sampleRow]{Name: name, Format: func(b []byte, r *sampleRow) []byte {
		d, known := r.delta(sectors)
		if !known {
			return b
		}
		return strconv.AppendFloat(b, float64(d*metric.SectorBytes)/1e6, 'f', 6, 64)
	}}
}

// humanBytesColumn declares a column with a byte count for people, in decimal units as the
// classic tool prints them.
func humanBytesColumn(name string, value func(*sampleRow) (bytes int64, known bool)) linefile.Column[sampleRow] {
	return linefile.Column[sampleRow]{Name: name, Format: func(b []byte, r *sampleRow) []byte {
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

// humanMillisColumn declares a column with a duration for people, such as "2 minutes".
func humanMillisColumn(name string, millis metric.Name) linefile.Column[sampleRow] {
	return linefile.Column[sampleRow]{Name: name, Format: func(b []byte, r *sampleRow) []byte {
		ms := int64(r.Get(millis))
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

// metricColumn holds a metric as it is declared. An unknown value is empty in the
// file, and a negative one is read as unknown.
func metricColumn(n metric.Name) linefile.Column[sampleRow] {
	list := metric.System()
	m := list.Must(n)
	at, _ := list.Index(n)
	return linefile.Column[sampleRow]{
		Name:   m.Column,
		Format: func(b []byte, r *sampleRow) []byte { return appendMetric(b, m, r.Values.At(at)) },
		Parse:  parser(m, func(r *sampleRow, v float64) { r.Values.SetAt(at, v) }),
	}
}

// parser returns a function that reads a metric's fields. Most fields are as in the row before.
func parser[T any](m metric.Metric, set func(row *T, v float64)) func(row *T, field string) error {
	last, value, whole := "", metric.Unknown, m.Whole()
	return func(row *T, field string) error {
		if field != last {
			v, err := parseMetric(whole, field)
			if err != nil {
				set(row, v)
				return err
			}
			last, value = field, v
		}
		set(row, value)
		return nil
	}
}

func appendMetric(b []byte, m metric.Metric, v float64) []byte {
	switch {
	case v < 0:
		return b
	case m.Whole():
		return strconv.AppendInt(b, int64(v), 10)
	default:
		return strconv.AppendFloat(b, v, 'f', m.Decimals, 64)
	}
}

func parseMetric(isWhole bool, field string) (v float64, err error) {
	switch {
	case field == "":
		return metric.Unknown, nil
	case isWhole:
		var whole int64
		whole, err = linefile.ParseInt(field)
		v = float64(whole)
	default:
		v, err = linefile.ParseFloat(field)
	}
	if v < 0 {
		v = metric.Unknown
	}
	return v, err
}

// formatPeriod leaves an unknown period empty.
func formatPeriod(b []byte, r *sampleRow) []byte {
	if r.PeriodNS < 0 {
		return b
	}
	return strconv.AppendInt(b, r.PeriodNS, 10)
}

func parsePeriod(r *sampleRow, field string) (err error) {
	if r.PeriodNS = -1; field != "" {
		r.PeriodNS, err = linefile.ParseInt(field)
	}
	return err
}

// formatNanosecond writes 0 for an interpolated sample, as the classic tool does.
func formatNanosecond(b []byte, r *sampleRow) []byte {
	if r.Interpolated {
		return append(b, '0')
	}
	return strconv.AppendInt(b, r.UnixNano, 10)
}

func parseNanosecond(r *sampleRow, field string) (err error) {
	r.UnixNano, err = linefile.ParseInt(field)
	r.Interpolated = r.UnixNano == 0
	return err
}

func formatSecond(b []byte, r *sampleRow) []byte { return strconv.AppendInt(b, r.Second(), 10) }

// parseSecond comes after parseNanosecond: the second counts where that is 0.
func parseSecond(r *sampleRow, field string) error {
	second, err := linefile.ParseInt(field)
	if r.Interpolated {
		r.UnixNano = second * int64(time.Second)
	}
	return err
}

// SampleWriter appends to a system-metrics CSV. It is not safe for concurrent
// use.
type SampleWriter struct {
	table  linefile.TableWriter[sampleRow]
	before *Sample
}

// NewSampleWriter opens or creates the file. A new file gets its header at once; in
// an old one deltas continue from its last row.
func NewSampleWriter(path string) (*SampleWriter, error) {
	old, err := ReadSamples(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrTruncated) {
		return nil, err
	}
	table, err := linefile.NewTableWriter(path, sampleColumns())
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
	if err := w.table.Write([]sampleRow{{s, w.before}}); err != nil {
		return err
	}
	w.before = &s
	return nil
}

// Close closes the file.
func (w *SampleWriter) Close() error { return w.table.Close() }

// SampleLines makes the lines that [SampleWriter] would append to a new file, for a file
// elsewhere. It is not safe for concurrent use.
type SampleLines struct {
	put     func(lines []byte) error
	columns []linefile.Column[sampleRow]
	before  *Sample // nil before the first sample
}

// NewSampleLines returns a SampleLines that calls put with the whole lines of each sample, which
// put may keep. The first call has the header too.
func NewSampleLines(put func(lines []byte) error) *SampleLines {
	return &SampleLines{put: put, columns: sampleColumns()}
}

// Write passes one sample to put and returns the error from put. After an error the next sample
// replaces this one.
func (l *SampleLines) Write(s Sample) error {
	var lines []byte
	if l.before == nil {
		lines = linefile.HeaderLine(l.columns)
	}
	if err := l.put(linefile.AppendRow(lines, l.columns, &sampleRow{s, l.before})); err != nil {
		return err
	}
	l.before = &s
	return nil
}

// FormatSample returns a file with one sample: the header and a row. [ParseSample] reads it.
func FormatSample(s *Sample) []byte {
	columns := sampleColumns()
	return linefile.AppendRow(linefile.HeaderLine(columns), columns, &sampleRow{Sample: *s})
}

// ParseSample parses what [FormatSample] wrote. Columns unknown to this release are ignored, and
// metrics without one are unknown.
func ParseSample(text []byte) (Sample, error) {
	rows, err := linefile.ParseTable("sample", text, sampleColumns(), func([]string) func() sampleRow {
		return func() sampleRow { return sampleRow{Sample: Sample{PeriodNS: -1, Values: metric.System().Values()}} }
	})
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("a sample must be one row, got %d", len(rows))
	}
	if err != nil {
		return Sample{}, fmt.Errorf("read a sample: %w", err)
	}
	return rows[0].Sample, nil
}

// ReadSamples reads a system-metrics CSV, ours or that of the classic tool ([Sample.Classic]
// reports which). DELTA columns and texts made from numbers are not read: they follow from the
// rest. Its errors are as in [ReadIntervals].
func ReadSamples(path string) ([]Sample, error) {
	rows, err := linefile.ReadTable(path, sampleColumns(), func(header []string) func() sampleRow {
		classic := !slices.Contains(header, firstOwnColumn)
		return func() sampleRow {
			return sampleRow{Sample: Sample{PeriodNS: -1, Classic: classic, Values: metric.System().Values()}}
		}
	})
	samples := make([]Sample, len(rows))
	for i := range rows {
		samples[i] = rows[i].Sample
	}
	return samples, err
}

// EachSample reads a system-metrics CSV as [ReadSamples] does, with its errors, and calls
// each with one sample after another. A sample is valid until the next.
func EachSample(path string, each func(*Sample)) error {
	return linefile.EachRow(path, sampleColumns(), func(header []string) func() *sampleRow {
		row, classic := sampleRow{}, !slices.Contains(header, firstOwnColumn)
		values := metric.System().Values()
		return func() *sampleRow {
			values.Forget()
			row.Sample = Sample{PeriodNS: -1, Classic: classic, Values: values}
			return &row
		}
	}, func(row *sampleRow) { each(&row.Sample) })
}
