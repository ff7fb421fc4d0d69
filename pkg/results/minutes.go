package results

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results/histogram"
)

// MinuteLog writes latency-minutes.hlog, in which the histograms from latency.hlog are merged, so
// that reports on a day read some lines for each minute and not one for each second. A line ends
// where a minute ends, counted from the first second of the load or of its step and phase, or one
// second later: a measured window may begin within its first second. So a line lies within one
// minute whichever minutes are meant. It is not safe for concurrent use.
type MinuteLog struct {
	lines *histogram.LogWriter
	now   int64 // the second whose histograms are added
	load  int64 // the first second; 0 before
	// phases has the first second by step and phase.
	phases map[phaseOf]int64
	open   map[Series]*minutePart
	free   []*minutePart
}

type phaseOf struct {
	step  int
	phase Phase
}

// minutePart is a line not yet written: the requests that ended ok in the seconds from from to
// last. The line ends before until.
type minutePart struct {
	from, last, until int64
	sum               *hdrhistogram.PackedHistogram
}

// NewMinuteLog opens or creates the log, in the memory of another log: they are not safe for
// concurrent use with each other. Start is as for [histogram.NewLogWriter].
func NewMinuteLog(path string, start time.Time, other *histogram.LogWriter) (*MinuteLog, error) {
	lines, err := other.Another(path, start)
	if err != nil {
		return nil, err
	}
	return &MinuteLog{lines: lines, phases: map[phaseOf]int64{}, open: map[Series]*minutePart{}}, nil
}

// Begin begins a second, which is not before the last one, and writes the lines ending before it.
func (w *MinuteLog) Begin(second time.Time) error {
	w.now = second.Unix()
	if w.load == 0 {
		w.load = w.now
	}
	return w.write(func(p *minutePart) bool { return p.until <= w.now })
}

// Add adds a series histogram, shaped like [histogram.New], to the second that began.
func (w *MinuteLog) Add(s Series, h *hdrhistogram.Histogram) {
	p := w.open[s]
	if p == nil {
		p = w.part(s)
		w.open[s] = p
	}
	p.last = w.now
	p.sum.MergeFrom(h)
}

// part returns an empty part for a series, beginning now.
func (w *MinuteLog) part(s Series) *minutePart {
	of := phaseOf{s.Step, s.Phase}
	first, known := w.phases[of]
	if !known {
		first = w.now
		w.phases[of] = first
	}
	p := &minutePart{sum: histogram.Packed()}
	if n := len(w.free); n > 0 {
		p, w.free = w.free[n-1], w.free[:n-1]
	}
	p.from, p.until = w.now, w.now+60
	for _, counted := range [...]int64{w.load, first, first + 1} {
		p.until = min(p.until, w.now+60-((w.now-counted)%60+60)%60)
	}
	return p
}

// Flush writes all lines, when a step ends.
func (w *MinuteLog) Flush() error { return w.write(func(*minutePart) bool { return true }) }

// write writes some lines, ordered by end and tag.
func (w *MinuteLog) write(is func(p *minutePart) bool) error {
	var list []Series
	for s, p := range w.open {
		if is(p) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b Series) int {
		return cmp.Or(cmp.Compare(w.open[a].until, w.open[b].until), strings.Compare(a.Tag(), b.Tag()))
	})
	var errs []error
	for _, s := range list {
		p := w.open[s]
		errs = append(errs, w.lines.WritePacked(time.Unix(p.from, 0).UTC(), time.Duration(p.last+1-p.from)*time.Second, s.Tag(), p.sum))
		p.sum.Reset()
		w.free = append(w.free, p)
		delete(w.open, s)
	}
	return errors.Join(errs...)
}

// Close writes all lines and closes the file.
func (w *MinuteLog) Close() error { return errors.Join(w.Flush(), w.lines.Close()) }
