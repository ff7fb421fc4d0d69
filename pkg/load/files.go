package load

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Files is a [Sink] that writes the canonical records in a tag folder.
type Files struct {
	intervals *results.IntervalWriter
	progress  *results.ProgressWriter
	members   *results.MemberWriter
	errors    *results.ErrorWriter
	latency   *histogram.LogWriter
	minutes   *results.MinuteLog
	total     *histogram.LogWriter
	byMember  *histogram.LogWriter
}

var _ MemberSink = (*Files)(nil)

// FileNames lists the records.
func FileNames() []string {
	return []string{
		results.FileIntervals, results.FileProgress, results.FileMembers, results.FileErrors,
		results.FileLatency, results.FileMinutes, results.FileTotal, results.FileMembersLatency,
	}
}

// NewFiles opens the records in dir, which must exist.
func NewFiles(dir string, start time.Time) (f *Files, err error) {
	f = &Files{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open records: %w", err), f.Close())
		}
	}()
	if f.intervals, err = results.NewIntervalWriter(filepath.Join(dir, results.FileIntervals)); err != nil {
		return f, err
	}
	if f.progress, err = results.NewProgressWriter(filepath.Join(dir, results.FileProgress)); err != nil {
		return f, err
	}
	if f.members, err = results.NewMemberWriter(filepath.Join(dir, results.FileMembers)); err != nil {
		return f, err
	}
	if f.errors, err = results.NewErrorWriter(filepath.Join(dir, results.FileErrors)); err != nil {
		return f, err
	}
	if f.latency, err = histogram.NewLogWriter(filepath.Join(dir, results.FileLatency), start); err != nil {
		return f, err
	}
	if f.minutes, err = results.NewMinuteLog(filepath.Join(dir, results.FileMinutes), start, f.latency); err != nil {
		return f, err
	}
	if f.total, err = f.latency.Another(filepath.Join(dir, results.FileTotal), start); err != nil {
		return f, err
	}
	f.byMember, err = f.latency.Another(filepath.Join(dir, results.FileMembersLatency), start)
	return f, err
}

// Second appends one second to the records.
func (f *Files) Second(s Second) error {
	errs := []error{f.intervals.Write(s.Intervals), f.progress.Write(s.Progress), f.members.Write(s.Members)}
	if len(s.Errors) > 0 {
		errs = append(errs, f.errors.Write(s.Errors))
	}
	errs = append(errs, f.minutes.Begin(s.Start))
	for _, l := range s.Latencies {
		errs = append(errs, f.latency.Write(s.Start, time.Second, l.Series.Tag(), l.Histogram))
		f.minutes.Add(l.Series, l.Histogram)
	}
	if s.Last {
		errs = append(errs, f.minutes.Flush())
	}
	return errors.Join(errs...)
}

// Total appends one series of a step to the totals.
func (f *Files) Total(t Total) error {
	return f.total.Write(t.Start, t.End.Sub(t.Start), t.Series.Tag(), t.Histogram)
}

// Member appends a member histogram.
func (f *Files) Member(t MemberTotal) error {
	return f.byMember.Write(t.Start, t.End.Sub(t.Start), t.Series.Tag(), t.Histogram)
}

// Close closes the files.
func (f *Files) Close() error {
	var errs []error
	if f.intervals != nil {
		errs = append(errs, f.intervals.Close())
	}
	if f.progress != nil {
		errs = append(errs, f.progress.Close())
	}
	if f.members != nil {
		errs = append(errs, f.members.Close())
	}
	if f.errors != nil {
		errs = append(errs, f.errors.Close())
	}
	if f.latency != nil {
		errs = append(errs, f.latency.Close())
	}
	if f.minutes != nil {
		errs = append(errs, f.minutes.Close())
	}
	if f.total != nil {
		errs = append(errs, f.total.Close())
	}
	if f.byMember != nil {
		errs = append(errs, f.byMember.Close())
	}
	return errors.Join(errs...)
}
