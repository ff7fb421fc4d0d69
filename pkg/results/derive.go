package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Derive writes the classic CSV files for one database into its tag folder dir. They follow only
// from the canonical files there and the database record in the manifest: deriving twice gives the
// same bytes. Only requests of [PhaseMeasure] count. Records of a killed run are used as far as
// they go: an incomplete last line is dropped, and files whose source is missing are not made.
// Interpolated samples with [CompressFrom] bytes or more are made only if named: they follow from
// the samples. All problems are reported, joined.
func Derive(dir string, run *DatabaseRun, named ...string) error {
	// Deriving takes a few megabytes for a moment. The histograms of the load are garbage by now
	// and leave room for them; without a collection both would be resident.
	runtime.GC()
	return errors.Join(
		deriveLatencies(dir, run),
		deriveSamples(dir, run, named...),
		replaceFile(filepath.Join(dir, FileDisk), DiskTable(run.Members)),
	)
}

// deriveLatencies writes the five client-latency files.
func deriveLatencies(dir string, run *DatabaseRun) error {
	intervals, err := ReadIntervals(filepath.Join(dir, FileIntervals))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && !errors.Is(err, ErrTruncated):
		return err
	}
	sum, err := summarize(dir, run, intervals)
	if err != nil {
		return err
	}
	series := measuredSeconds(run, intervals)
	var errs []error
	for _, f := range []struct {
		name string
		data []byte
	}{
		{FileClassicSummary, summaryTable(sum)},
		{FileClassicPercentile, percentileTable(sum)},
		{FileClassicAll, distributionTable(sum)},
		{FileClassicTimeseries, timeseriesTable(series)},
		{FileClassicByKey, byKeyTable(series)},
	} {
		errs = append(errs, replaceFile(filepath.Join(dir, f.name), f.data))
	}
	return errors.Join(errs...)
}

// deriveSamples writes the interpolated file next to each system-metrics CSV, all in the client
// clock. Large ones are written only if they are named.
func deriveSamples(dir string, run *DatabaseRun, named ...string) error {
	tracks, err := Tracks(dir, run)
	if err != nil && !errors.Is(err, ErrTruncated) {
		return err
	}
	sources := map[string]string{FileClient: FileClientInterpolated}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list tag folder: %w", err)
	}
	for _, e := range entries {
		if n := serverNumber(e.Name()); n > 0 {
			sources[e.Name()] = strconv.Itoa(n) + "-" + FileServerInterpolated
		}
	}
	var errs []error
	for from, to := range sources {
		samples, err := ReadSamples(filepath.Join(dir, from))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil && !errors.Is(err, ErrTruncated):
			errs = append(errs, err)
			continue
		}
		if n := serverNumber(from); n > 0 && n <= len(tracks) {
			for i := range samples {
				samples[i].UnixNano = tracks[n-1].Client(samples[i].UnixNano)
			}
		}
		if table := SampleTable(Interpolate(samples)); len(table) < CompressFrom || slices.Contains(named, to) {
			errs = append(errs, replaceFile(filepath.Join(dir, to), table))
		}
	}
	return errors.Join(errs...)
}

// serverNumber returns N from the name "N-server-system-metrics.csv", 0 for others.
func serverNumber(name string) int {
	prefix, _, _ := strings.Cut(name, "-")
	n, err := strconv.Atoi(prefix)
	if err != nil || n < 1 || name != ServerFile(n) {
		return 0
	}
	return n
}

// summaryTable has one name and value a line and no header. A value without requests is
// empty.
func summaryTable(s *Summary) []byte {
	var b []byte
	row := func(name string, value float64, known bool) {
		b = append(append(b, name...), ',')
		if known {
			b = fmt.Appendf(b, "%4.4f", value)
		}
		b = append(b, '\n')
	}
	some := s.Latency.Count > 0
	row("TOTAL-SECONDS", s.Window.Seconds(), true)
	_, missing := s.Served.Average()
	row("REQUESTS-PER-SECOND", s.Throughput(), missing == "")
	row("SLOWEST-LATENCY-MS", milliseconds(float64(s.Latency.MaxNS)), some)
	row("FASTEST-LATENCY-MS", milliseconds(float64(s.Latency.MinNS)), some)
	row("AVERAGE-LATENCY-MS", milliseconds(s.Latency.Mean()), some)
	row("STDDEV-LATENCY-MS", milliseconds(s.Latency.StdDev()), some)
	for _, e := range s.Errors {
		b = linefile.AppendText(b, fmt.Sprintf("ERROR: %q", e.Class))
		b = fmt.Appendf(b, ",%d\n", e.Count)
	}
	if len(s.Errors) == 0 {
		b = append(b, "ERROR,0\n"...)
	}
	return b
}

// percentileTable leaves percentiles empty where there was no request.
func percentileTable(s *Summary) []byte {
	b := []byte("LATENCY-PERCENTILE,LATENCY-MS\n")
	for _, p := range []float64{10, 25, 50, 75, 90, 95, 99, 99.9} {
		b = fmt.Appendf(b, "p%v,", p)
		if ns, known := s.Quantile(p / 100); known {
			b = fmt.Appendf(b, "%f", milliseconds(float64(ns)))
		}
		b = append(b, '\n')
	}
	return b
}

// distributionTable counts latencies in 10 ms buckets, every bucket from the first to the last
// one used.
func distributionTable(s *Summary) []byte {
	b := []byte("LATENCY-MS,COUNT\n")
	const width = 10 * time.Millisecond
	counts := map[int64]int64{}
	bars := histogram.Packed() // those with counts
	bars.MergeFrom(s.Histogram)
	for value, count := range bars.ForEachBucket {
		// A bar is narrower than a bucket up to some 10 s; its middle stands for
		// it. The exact extremes bound the outer ones.
		middle := value + (histogram.BucketWidth(value)-1)/2
		if s.Latency.Count > 0 {
			middle = min(max(middle, s.Latency.MinNS), s.Latency.MaxNS)
		}
		counts[middle/int64(width)] += count
	}
	if len(counts) == 0 {
		return b
	}
	first, last := bounds(counts)
	for bucket := first; bucket <= last; bucket++ {
		b = fmt.Appendf(b, "%d,%d\n", bucket*width.Milliseconds(), counts[bucket])
	}
	return b
}

func bounds(counts map[int64]int64) (first, last int64) {
	started := false
	for k := range counts {
		if !started || k < first {
			first = k
		}
		if !started || k > last {
			last = k
		}
		started = true
	}
	return first, last
}

// secondRow counts the ok requests in one second of a step.
type secondRow struct {
	second  int64
	step    int
	clients int
	ok      int64
	latency Latency
}

// measuredSeconds sums the measured intervals by second and step, in order, over
// all operations. It begins and ends with a second that had any request.
func measuredSeconds(run *DatabaseRun, intervals []Interval) []secondRow {
	var rows []secondRow
	for i := range intervals {
		v := &intervals[i]
		if v.Phase != PhaseMeasure || v.Due+v.Sent+v.OK+v.Failed+v.Unknown == 0 {
			continue
		}
		rows = append(rows, secondRow{v.Second, v.Step, v.Clients, v.OK, *v.Latency(run.Timing(v.Step), workload.OK)})
	}
	slices.SortStableFunc(rows, func(a, b secondRow) int {
		if a.second != b.second {
			return int(a.second - b.second)
		}
		return a.step - b.step
	})
	merged := rows[:0]
	for _, r := range rows {
		if n := len(merged); n > 0 && merged[n-1].second == r.second && merged[n-1].step == r.step {
			merged[n-1].ok += r.ok
			merged[n-1].latency = merged[n-1].latency.Merge(r.latency)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// timeseriesTable has one row per second and step with ok requests, and a zero
// row for every other second between the first and the last.
func timeseriesTable(rows []secondRow) []byte {
	b := []byte("UNIX-SECOND,CONTROL-CLIENT-NUM,MIN-LATENCY-MS,AVG-LATENCY-MS,MAX-LATENCY-MS,AVG-THROUGHPUT\n")
	row := func(second int64, clients int, l Latency, ok int64) {
		b = fmt.Appendf(b, "%d,%d,", second, clients)
		b = appendLatency(b, l)
		b = fmt.Appendf(b, ",%d\n", ok)
	}
	for i := 0; i < len(rows); {
		second, written := rows[i].second, false
		for ; i < len(rows) && rows[i].second == second; i++ {
			if rows[i].ok > 0 {
				row(second, rows[i].clients, rows[i].latency, rows[i].ok)
				written = true
			}
		}
		clients := rows[i-1].clients
		if !written {
			row(second, clients, Latency{}, 0)
		}
		if i < len(rows) && rows[i].second-second <= maxGap {
			for second++; second < rows[i].second; second++ {
				row(second, clients, Latency{}, 0)
			}
		}
	}
	return b
}

// byKeyTable has a row for every thousandth ok request, with the latencies in the second it was
// reached in, and one for the last request.
func byKeyTable(rows []secondRow) []byte {
	b := []byte("KEYS,MIN-LATENCY-MS,AVG-LATENCY-MS,MAX-LATENCY-MS\n")
	const unit = 1000
	row := func(keys int64, l Latency) {
		b = fmt.Appendf(b, "%d,", keys)
		b = append(appendLatency(b, l), '\n')
	}
	var reached int64
	var latency Latency // in the last second with ok requests
	for i := 0; i < len(rows); {
		second, ok, merged := rows[i].second, int64(0), Latency{}
		for ; i < len(rows) && rows[i].second == second; i++ {
			ok += rows[i].ok
			merged = merged.Merge(rows[i].latency)
		}
		if ok == 0 {
			continue
		}
		latency = merged
		for next := (reached/unit + 1) * unit; next <= reached+ok; next += unit {
			row(next, latency)
		}
		reached += ok
	}
	if reached%unit != 0 {
		row(reached, latency)
	}
	return b
}

// appendLatency appends minimum, mean and maximum in milliseconds.
func appendLatency(b []byte, l Latency) []byte {
	return fmt.Appendf(b, "%f,%f,%f", milliseconds(float64(l.MinNS)), milliseconds(l.Mean()), milliseconds(float64(l.MaxNS)))
}

func milliseconds(ns float64) float64 { return ns / float64(time.Millisecond) }

// DiskColumns returns the columns of [DiskTable].
func DiskColumns() []string {
	return []string{"INDEX", "DATABASE-ENDPOINT", "DISK-SPACE-USAGE", "DISK-SPACE-USAGE-BYTES-NUM"}
}

// DiskTable returns [FileDisk]: data sizes by member as CSV. It leaves the size empty for a member
// that was not measured.
func DiskTable(members []Member) []byte {
	b := []byte(strings.Join(DiskColumns(), ",") + "\n")
	for _, m := range members {
		b = strconv.AppendInt(b, int64(m.Index), 10)
		b = linefile.AppendText(append(b, ','), m.Endpoint)
		if m.Disk == nil {
			b = append(b, ",,\n"...)
			continue
		}
		b = fmt.Appendf(b, ",%s,%d\n", humanize.Bytes(uint64(m.Disk.ApparentBytes)), m.Disk.ApparentBytes)
	}
	return b
}
