package run

import (
	"cmp"
	"slices"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Counts are the requests of a load by outcome, over all phases.
type Counts struct {
	Offered, Sent, OK, Failed, Unknown Measure
	Shed, Unsent, Queued, Late         Measure
	// Clamped counts latencies above the histogram maximum.
	Clamped Measure
	// Failures is Failed + Unknown.
	Failures Measure
	// Reads counts the ok requests that returned values, and BytesRead the bytes in those values.
	Reads, BytesRead Measure
	// BytesWritten counts the bytes in keys and values written by ok requests.
	BytesWritten Measure
}

// Lost counts due requests that were not answered ok.
func (c *Counts) Lost() Measure {
	sum := 0.0
	for _, m := range []Measure{c.Failed, c.Unknown, c.Shed, c.Unsent} {
		if !m.Known() {
			return m
		}
		sum += m.Value
	}
	return Measured(sum, 0)
}

// uncounted returns counts that are all missing for the same reason.
func uncounted(why Measure) Counts {
	return Counts{
		Offered: why, Sent: why, OK: why, Failed: why, Unknown: why, Shed: why, Unsent: why,
		Queued: why, Late: why, Clamped: why, Failures: why, Reads: why, BytesRead: why, BytesWritten: why,
	}
}

// countsOf returns the totals in a manifest, which do not include reads.
func countsOf(t results.Totals, load *results.Load) Counts {
	return Counts{
		Offered: Counted(t.Offered), Sent: Counted(t.Sent), OK: Counted(t.OK), Failed: Counted(t.Failed), Unknown: Counted(t.Unknown),
		Shed: Counted(t.Shed), Unsent: Counted(t.Unsent), Queued: Counted(t.Queued), Late: Counted(t.Late),
		Clamped: Counted(t.Clamped), Failures: Counted(t.Failed + t.Unknown), BytesRead: Counted(t.BytesRead),
		BytesWritten: writtenOf(t, load),
	}
}

// folderCounts returns the totals in the manifest. A killed run has no totals, so its requests are
// counted from the intervals.
func folderCounts(record *results.DatabaseRun, intervals []results.Interval, gaps *Gaps) (c Counts) {
	switch {
	case record.Totals != nil:
		c = countsOf(*record.Totals, &record.Load)
	case len(intervals) == 0:
		c = uncounted(Missing("no request was recorded"))
	default:
		c = countsOf(totalsOf(intervals), &record.Load)
		gaps.Add("the manifest has no totals; requests are counted from %s", results.FileIntervals)
	}
	if record.Totals == nil {
		c.Clamped = Missing("only the totals at the end of a run include it")
		c.BytesRead = Missing("only the totals at the end of a run include the bytes that were read")
	}
	c.Reads = readsOf(intervals, c.BytesRead, gaps.why(results.FileIntervals, "the number of reads was not recorded"))
	return c
}

// writtenOf returns the bytes written. Old versions did not record them. A load that only reads or
// deletes wrote 0 bytes.
func writtenOf(t results.Totals, load *results.Load) Measure {
	if t.BytesWritten == 0 && t.OK > 0 && load.Any(workload.Op.SendsValue) {
		return Missing("the bytes of keys and values were not recorded")
	}
	return Measured(float64(t.BytesWritten), t.OK)
}

func totalsOf(intervals []results.Interval) (t results.Totals) {
	for i := range intervals {
		iv := &intervals[i]
		t.Offered += iv.Due
		t.Sent += iv.Sent
		t.OK += iv.OK
		t.Failed += iv.Failed
		t.Unknown += iv.Unknown
		t.Shed += iv.Shed
		t.Unsent += iv.Unsent
		t.Queued += iv.Queued
		t.Late += iv.Late
		t.BytesWritten += iv.WrittenBytes
	}
	return t
}

// readsOf counts the ok requests that returned values. If bytes were read but the requests were not
// recorded, the result is missing with the reason unrecorded.
func readsOf(intervals []results.Interval, bytes Measure, unrecorded string) Measure {
	var n int64
	for i := range intervals {
		if workload.Op(intervals[i].Operation).Reads() {
			n += intervals[i].OK
		}
	}
	switch {
	case n > 0:
		return Counted(n)
	case bytes.Value > 0:
		return Missing("%s", unrecorded)
	}
	return Inapplicable("no value was read")
}

// ErrorCount counts one error class over a whole load, with its first message.
type ErrorCount struct {
	Class, Text string
	Count       int64
	// Messages are sorted by frequency, highest first. They are empty if the records do not count
	// messages.
	Messages []MessageCount
}

// MessageCount counts one message in an error class. Numbers, addresses and ids in messages are
// masked.
type MessageCount struct {
	Text  string
	Count int64
}

// errorCounts sums the errors by class over all phases, the most frequent first.
func errorCounts(rows []results.ErrorCount) (errors []ErrorCount) {
	at := map[string]int{}
	for _, row := range rows {
		n, known := at[row.Class]
		if !known {
			n = len(errors)
			at[row.Class] = n
			errors = append(errors, ErrorCount{Class: row.Class})
		}
		errors[n].Count += row.Count
		errors[n].AddMessage(row.Message, row.Count)
		if errors[n].Text == "" {
			errors[n].Text = row.FirstText
		}
	}
	SortErrors(errors)
	return errors
}

// SortErrors sorts errors and their messages by frequency, highest first.
func SortErrors(errors []ErrorCount) {
	slices.SortStableFunc(errors, func(a, b ErrorCount) int { return cmp.Compare(b.Count, a.Count) })
	for _, e := range errors {
		slices.SortStableFunc(e.Messages, func(a, b MessageCount) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
		})
	}
}

// AddMessage counts a message n times; it ignores "".
func (e *ErrorCount) AddMessage(text string, n int64) {
	if text == "" {
		return
	}
	i := slices.IndexFunc(e.Messages, func(m MessageCount) bool { return m.Text == text })
	if i < 0 {
		i = len(e.Messages)
		e.Messages = append(e.Messages, MessageCount{Text: text})
	}
	e.Messages[i].Count += n
}
