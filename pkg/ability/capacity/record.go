package capacity

import (
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/files/wholefile"
)

// File holds the windows that a search sent, in a tag folder. Dir has their records: all files that
// a load has, in which windows take the place of steps. Records from failed holds lie in folders
// below it. The tag folder itself has only the last window's records.
const (
	File = "capacity.csv"
	Dir  = "capacity"
)

// Record declares the record of a search. Its last window is the load that the run record
// describes.
func Record() ability.Record[Result] { return ability.Record[Result]{Key: "capacity"} }

// Result holds search parameters and results.
type Result struct {
	Plan
	// Reason is why the search ended, in the words of package stats/capacity: "found", "out of
	// windows", "stalls", "client-limited", "store full", "below the least rate", "above the
	// highest rate". EndedAt is the rate at which the client, the store or a bound
	// ended the search or the hold.
	Reason  string  `json:"reason"`
	EndedAt float64 `json:"at,omitempty"`
	// Rate is the capacity, and Low to High an interval that holds it with 95 %
	// probability, in requests per second: 0 if no window counted. Rate is a capacity only
	// with the reasons "found" and "out of windows".
	Rate float64 `json:"rate,omitempty"`
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// Counted is the number that counted. Stalled among these failed because the server paused.
	// Voided windows did not count because the client was late.
	Counted int `json:"counted"`
	Stalled int `json:"stalled,omitempty"`
	Voided  int `json:"voided,omitempty"`
	// Held is the rate at which a hold passed, 0 if no hold did; Holds counts passed and failed
	// holds. Unheld is "client-limited" or "store full" if that ended the hold, else "".
	Held   float64 `json:"held,omitempty"`
	Holds  int     `json:"holds,omitempty"`
	Unheld string  `json:"unheld,omitempty"`
	// Fit is the probability that a window passes, nil if no window counted.
	Fit *Fit `json:"fit,omitempty"`
	// Drift compares a window at the end of the search with one at the same rate at its beginning;
	// nil if no window at that rate passed.
	Drift *Drift `json:"drift,omitempty"`
}

// Fit is the posterior mean: a window at a rate passes with the probability (1 - Lapse) * Phi((ln
// Threshold - ln rate) / Spread).
type Fit struct {
	Threshold float64 `json:"threshold"`
	Spread    float64 `json:"spread"`
	Lapse     float64 `json:"lapse"`
}

// Drift has the share of requests within the limit, in two windows at one rate.
type Drift struct {
	Rate  float64 `json:"rate"`
	First float64 `json:"first_share"`
	Last  float64 `json:"last_share"`
}

// Agrees reports whether both windows are within 5 % of each other.
func (d Drift) Agrees() bool { return d.Last >= d.First*.95 && d.First >= d.Last*.95 }

// Found reports whether the search ended with a capacity.
func (c *Result) Found() bool { return c.Reason == "found" || c.Reason == "out of windows" }

// Stalls reports whether more windows stalled than may fail by the plan's Share.
func (c *Result) Stalls() bool {
	return float64(c.Stalled) > (1-float64(c.Share)/100)*float64(c.Counted)
}

// Kind says what a window is for.
type Kind string

// The kinds of window.
const (
	KindSearch Kind = "search"
	// KindWarmUp is the load before the first window; nothing is concluded from it.
	KindWarmUp Kind = "warm-up"
	// KindAgain repeats a rate from the beginning of the search.
	KindAgain Kind = "again"
	KindHold  Kind = "hold"
	// KindLast is a window after a search without a hold.
	KindLast Kind = "last"
)

// Window is one row in capacity.csv. It counts requests that were due in the window.
type Window struct {
	// Trial and Window count from 1.
	Trial, Window int
	Kind          Kind
	// Start is when the load began to settle before the window, End when its last request ended.
	Start, End time.Time
	Rate       float64
	// Due counts offered requests, Over those among them that were not answered within the limit:
	// answered later, failed, unknown, shed or unsent. Failed counts failed and unknown requests.
	Due, Over, Failed, Shed, Unsent, Late int64
	// PauseNS is the longest time in which requests waited and the server answered nothing.
	PauseNS int64
	// Outcome is "pass", "fail", "stalled", "void" or "store full". Pass and Void are 1 or
	// 0.
	Outcome    string
	Pass, Void int
	// Early is 1 if the window ended early because it could no longer pass.
	Early int
	// Low, Middle and High estimate the capacity after the window; 0 before the first failure.
	Low, Middle, High float64
	// DBBytes, HeapBytes and FreeBytes are the worst store size, heap and free disk space of any
	// member when the window ends; -1 if not known.
	DBBytes, HeapBytes, FreeBytes int64
}

// columns declares capacity.csv, in the order of its columns.
func columns() []linefile.Column[Window] {
	type row = Window
	return []linefile.Column[Window]{
		linefile.IntColumn("trial", func(w *row) *int { return &w.Trial }),
		linefile.IntColumn("window", func(w *row) *int { return &w.Window }),
		linefile.TextColumn("kind", func(w *row) *Kind { return &w.Kind }),
		linefile.TimeColumn("start", func(w *row) *time.Time { return &w.Start }),
		linefile.TimeColumn("end", func(w *row) *time.Time { return &w.End }),
		linefile.FloatColumn("rate", func(w *row) *float64 { return &w.Rate }),
		linefile.IntColumn("due", func(w *row) *int64 { return &w.Due }),
		linefile.IntColumn("over", func(w *row) *int64 { return &w.Over }),
		linefile.IntColumn("failed", func(w *row) *int64 { return &w.Failed }),
		linefile.IntColumn("shed", func(w *row) *int64 { return &w.Shed }),
		linefile.IntColumn("unsent", func(w *row) *int64 { return &w.Unsent }),
		linefile.IntColumn("late", func(w *row) *int64 { return &w.Late }),
		linefile.IntColumn("pause_ns", func(w *row) *int64 { return &w.PauseNS }),
		linefile.TextColumn("outcome", func(w *row) *string { return &w.Outcome }),
		linefile.IntColumn("pass", func(w *row) *int { return &w.Pass }),
		linefile.IntColumn("void", func(w *row) *int { return &w.Void }),
		linefile.IntColumn("early", func(w *row) *int { return &w.Early }),
		linefile.FloatColumn("posterior_low", func(w *row) *float64 { return &w.Low }),
		linefile.FloatColumn("posterior_mid", func(w *row) *float64 { return &w.Middle }),
		linefile.FloatColumn("posterior_high", func(w *row) *float64 { return &w.High }),
		linefile.IntColumn("db_bytes", func(w *row) *int64 { return &w.DBBytes }),
		linefile.IntColumn("heap_bytes", func(w *row) *int64 { return &w.HeapBytes }),
		linefile.IntColumn("disk_free_bytes", func(w *row) *int64 { return &w.FreeBytes }),
	}
}

// WriteWindows writes capacity.csv as a whole.
func WriteWindows(path string, windows []Window) error {
	declared := columns()
	b := linefile.HeaderLine(declared)
	for i := range windows {
		b = linefile.AppendRow(b, declared, &windows[i])
	}
	return wholefile.Write(path, wholefile.Bytes(b))
}

// ReadWindows reads capacity.csv; its errors are as in package results.
func ReadWindows(path string) ([]Window, error) {
	return linefile.ReadTable(path, columns(), linefile.ZeroRows[Window])
}
