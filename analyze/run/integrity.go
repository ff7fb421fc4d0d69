package run

import (
	"cmp"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// longestPause limits the seconds between two rows of one load. Rows further apart are broken,
// because the client writes a row every second.
const longestPause = 3600

// nearby returns the half-open range that contains most of the given seconds without a pause longer
// than longestPause. A second outside it comes from a broken row. Series allocate a value per
// second between first and last, so such a second would make them huge.
func nearby(unix []int64) (from, to int64) {
	sorted := slices.Sorted(slices.Values(unix))
	first, most := 0, 0
	for i := range sorted {
		if i > 0 && sorted[i]-sorted[i-1] > longestPause {
			first = i
		}
		if i+1-first > most {
			most, from, to = i+1-first, sorted[first], sorted[i]+1
		}
	}
	return from, to
}

// checkedIntervals returns the rows in intervals.csv without outlying seconds. Outlying rows,
// repeated rows and sums that contradict the manifest are gaps.
func checkedIntervals(record *results.DatabaseRun, intervals []results.Interval, gaps *Gaps) []results.Interval {
	unix := make([]int64, len(intervals))
	for i := range intervals {
		unix[i] = intervals[i].Second
	}
	from, to := nearby(unix)
	kept, far := intervals, func(iv results.Interval) bool { return iv.Second < from || iv.Second >= to }
	if slices.ContainsFunc(kept, far) {
		kept = slices.DeleteFunc(slices.Clone(intervals), far)
	}
	if n := len(intervals) - len(kept); n > 0 {
		gaps.Add("%s has %d rows of seconds far from the load; they are ignored", results.FileIntervals, n)
	}
	repeatedRows(kept, gaps)
	if record.Totals != nil && len(intervals) > 0 && gaps.problems[results.FileIntervals] == "" {
		checkTotals(*record.Totals, totalsOf(kept), gaps)
	}
	return kept
}

// repeatedRows adds a gap for rows with the same second, step, phase and operation.
func repeatedRows(intervals []results.Interval, gaps *Gaps) {
	repeated := 0
	for rows := range results.BySecond(intervals) {
		for i, iv := range rows {
			if slices.ContainsFunc(rows[:i], func(o *results.Interval) bool {
				return o.Step == iv.Step && o.Phase == iv.Phase && o.Operation == iv.Operation
			}) {
				repeated++
			}
		}
	}
	if repeated > 0 {
		gaps.Add("%s repeats %d rows, so its counts are too high", results.FileIntervals, repeated)
	}
}

// checkTotals compares the sums of the rows with the totals in the manifest, which were counted
// independently.
func checkTotals(want, got results.Totals, gaps *Gaps) {
	for _, c := range []struct {
		name      string
		want, got int64
	}{
		{"due", want.Offered, got.Offered}, {"sent", want.Sent, got.Sent}, {"answered ok", want.OK, got.OK},
		{"failed", want.Failed, got.Failed}, {"unknown", want.Unknown, got.Unknown},
		{"shed", want.Shed, got.Shed}, {"unsent", want.Unsent, got.Unsent},
	} {
		if c.want != c.got {
			gaps.Add("%s has %d requests %s, the manifest %d: rows were lost, repeated or changed", results.FileIntervals, c.got, c.name, c.want)
			return
		}
	}
}

// checkLatencyTotals compares the histograms for the whole load with the rows.
func checkLatencyTotals(intervals []results.Interval, totals map[results.Series]*hdrhistogram.Histogram, gaps *Gaps) {
	var rows, histograms int64
	for i := range intervals {
		rows += intervals[i].Service[workload.OK].Count
	}
	for series, h := range totals {
		if series.Timing == results.TimingService && series.Outcome == workload.OK {
			histograms += h.TotalCount()
		}
	}
	if rows != histograms {
		gaps.Add("%s has %d requests answered ok, %s %d: records were lost, repeated or changed", results.FileTotal, histograms, results.FileIntervals, rows)
	}
}

// checkProgress compares the requests in progress.csv, from which throughput is computed, with the
// totals in the manifest. A killed run has no totals.
func checkProgress(record *results.DatabaseRun, requests *results.Requests, gaps *Gaps) {
	recorded := slices.ContainsFunc(record.Steps, func(s results.Step) bool { return s.LargestGap != nil })
	switch {
	case record.Totals == nil:
	case !requests.Served && recorded:
		gaps.Add("%s is missing: throughput is computed from whole seconds", results.FileProgress)
	case requests.Served && requests.ServedOK != record.Totals.OK:
		gaps.Add("%s has %d requests answered ok, the manifest %d: rows were lost, repeated or changed, and throughput is computed from the remaining ones",
			results.FileProgress, requests.ServedOK, record.Totals.OK)
	}
}

// checkLog compares the requests in the latency log with the rows, second by second.
func checkLog(intervals []results.Interval, logged map[int64]int64, gaps *Gaps) {
	rows := map[int64]int64{}
	for i := range intervals {
		rows[intervals[i].Second] += intervals[i].Service[workload.OK].Count
	}
	var differ []int64
	for second, n := range rows {
		if logged[second] != n {
			differ = append(differ, second)
		}
	}
	for second := range logged {
		if _, known := rows[second]; !known {
			differ = append(differ, second)
		}
	}
	if len(differ) > 0 {
		at := slices.MinFunc(differ, cmp.Compare[int64])
		gaps.Add("%s and %s differ in %d seconds, first in second %d with %d and %d requests answered ok: records were lost, repeated or shifted",
			results.FileLatency, results.FileIntervals, len(differ), at, logged[at], rows[at])
	}
}
