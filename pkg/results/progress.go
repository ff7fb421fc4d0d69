package results

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/coreos/dbtester/pkg/files/linefile"
)

// ProgressTick is the time that a row of progress.csv covers. Rows are shorter where the step
// begins, where its measured window ends and where the step ends.
const ProgressTick = 100 * time.Millisecond

// Progress counts one operation's requests in one tick of a step: one row of progress.csv. Ticks
// are counted from the start of the measured window ([DatabaseRun.Measured]) in both directions.
// The tick in which the window ends is two rows, so that rows sum to the window's exact counts.
//
// A row in which nothing was due, ended or in flight is left out. A request whose
// record came late adds another row for its tick: readers must add up such rows.
type Progress struct {
	Step int
	// FromNS and ToNS bound the row, in nanoseconds after the step starts. A row counts the events
	// in [FromNS, ToNS); the last row of a step also counts its last answer.
	FromNS, ToNS int64
	Operation    string
	// Due counts requests that became due, Shed and Unsent requests given up. OK, Failed and
	// Unknown count requests that ended, whenever they were due.
	Due, OK, Failed, Unknown, Shed, Unsent int64
	// InFlight is a gauge: requests sent and not ended at ToNS.
	InFlight int64
	// FirstOKNS and LastOKNS are when the first and the last request, in any operation, ended ok in
	// the tick, in nanoseconds after the start of the step. Both are 0 if no request did, and in
	// files from older versions.
	FirstOKNS, LastOKNS int64
}

// Answered extends the times of the first and the last ok request by those in another part in the
// same tick.
func (p *Progress) Answered(first, last int64) {
	if last == 0 {
		return
	}
	if p.LastOKNS == 0 || first < p.FirstOKNS {
		p.FirstOKNS = first
	}
	p.LastOKNS = max(p.LastOKNS, last)
}

// progressColumns declares progress.csv, in column order.
func progressColumns() []linefile.Column[Progress] {
	return []linefile.Column[Progress]{
		linefile.IntColumn("step", func(p *Progress) *int { return &p.Step }),
		linefile.IntColumn("from_ns", func(p *Progress) *int64 { return &p.FromNS }),
		linefile.IntColumn("to_ns", func(p *Progress) *int64 { return &p.ToNS }),
		linefile.TextColumn("operation", func(p *Progress) *string { return &p.Operation }),
		linefile.IntColumn("due", func(p *Progress) *int64 { return &p.Due }),
		linefile.IntColumn("ok", func(p *Progress) *int64 { return &p.OK }),
		linefile.IntColumn("failed", func(p *Progress) *int64 { return &p.Failed }),
		linefile.IntColumn("unknown", func(p *Progress) *int64 { return &p.Unknown }),
		linefile.IntColumn("shed", func(p *Progress) *int64 { return &p.Shed }),
		linefile.IntColumn("unsent", func(p *Progress) *int64 { return &p.Unsent }),
		linefile.IntColumn("in_flight", func(p *Progress) *int64 { return &p.InFlight }),
		optional(linefile.IntColumn("first_ok_ns", func(p *Progress) *int64 { return &p.FirstOKNS })),
		optional(linefile.IntColumn("last_ok_ns", func(p *Progress) *int64 { return &p.LastOKNS })),
	}
}

// optional declares a column missing from older files.
func optional[T any](c linefile.Column[T]) linefile.Column[T] {
	c.Optional = true
	return c
}

// ProgressWriter appends to progress.csv. It is not safe for concurrent use.
type ProgressWriter struct {
	table linefile.TableWriter[Progress]
}

// NewProgressWriter opens or creates the file; a new one gets its header at once.
func NewProgressWriter(path string) (*ProgressWriter, error) {
	table, err := linefile.NewTableWriter(path, progressColumns())
	if err != nil {
		return nil, err
	}
	return &ProgressWriter{table}, nil
}

// Write appends the rows and returns when the kernel has them. After an error
// every Write returns that error.
func (w *ProgressWriter) Write(rows []Progress) error { return w.table.Write(rows) }

// Close closes the file.
func (w *ProgressWriter) Close() error { return w.table.Close() }

// ReadProgress reads progress.csv; its errors are as in [ReadIntervals].
func ReadProgress(path string) ([]Progress, error) {
	return linefile.ReadTable(path, progressColumns(), linefile.ZeroRows[Progress])
}

// EachProgress calls each with one row after another from the progress.csv in a tag folder, whose
// last line may be missing. A row is valid until the next.
func EachProgress(dir string, each func(*Progress)) error {
	err := linefile.EachRow(filepath.Join(dir, FileProgress), progressColumns(), linefile.OneRow[Progress], each)
	if errors.Is(err, ErrTruncated) {
		return nil
	}
	return err
}

// Gap is the longest time without an ok answer in a step's measured window. Times are nanoseconds
// after the step starts.
type Gap struct {
	// FromNS is the ok answer before the gap, or the window start; ToNS the ok answer after it, or
	// the window end.
	FromNS int64 `json:"from_ns"`
	ToNS   int64 `json:"to_ns"`
	// FromStart reports that no ok answer came before the gap in the window, ToEnd that no ok
	// answer came after it.
	FromStart bool `json:"from_start,omitempty"`
	ToEnd     bool `json:"to_end,omitempty"`
}

// Length returns the gap's duration.
func (g Gap) Length() time.Duration { return time.Duration(g.ToNS - g.FromNS) }

// Exact reports whether length and place of the gap are exact. A gap not longer than [ProgressTick]
// is the longest known gap, and every other gap is at most [ProgressTick] long.
func (g Gap) Exact() bool { return g.Length() > ProgressTick }
