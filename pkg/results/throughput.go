package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Reason is why a number is missing, in the words that a report prints. It is empty for a present
// number.
type Reason string

// The reasons.
const (
	// NotRecorded is for numbers that older records do not support.
	NotRecorded Reason = "not recorded then"
	// TooFewSeconds is for extremes over fewer than [MinSeconds] whole seconds.
	TooFewSeconds Reason = "too few whole seconds"
	// NoWindow is for a load or a step that ended before its measured window began.
	NoWindow Reason = "no measured time"
)

// MinSeconds is how many whole seconds throughput extremes need.
const MinSeconds = 3

// Throughput counts the requests that ended ok inside measured windows, whenever they were due.
// Latencies have another population: the requests that were due in a window, whenever they ended.
type Throughput struct {
	// OK counts requests; Window is the duration of the windows, without the pauses between them.
	OK     int64
	Window time.Duration
	// WholeSeconds counts the whole seconds in the windows, each from where its window starts. A
	// window's remainder is joined to its last second.
	WholeSeconds int64
	// Missing is why all these fields are missing.
	Missing Reason

	lowest, highest float64 // requests per second, over parts of at least a second
	parts           int64   // that lowest and highest cover
	noSeconds       bool    // OK comes from records without ticks
}

// Average returns requests per second over the whole windows. It always lies between
// the extremes.
func (t *Throughput) Average() (perSecond float64, missing Reason) {
	switch {
	case t.Missing != "":
		return 0, t.Missing
	case t.Window <= 0:
		return 0, NoWindow
	}
	average := float64(t.OK) / t.Window.Seconds()
	if t.parts > 0 { // float rounding, in the last digits
		average = min(max(average, t.lowest), t.highest)
	}
	return average, ""
}

// Extremes returns the least and the most requests per second in a whole second. The last second of
// a window is longer by the remainder.
func (t *Throughput) Extremes() (lowest, highest float64, missing Reason) {
	switch {
	case t.Missing != "":
		return 0, 0, t.Missing
	case t.noSeconds:
		return 0, 0, NotRecorded
	case t.WholeSeconds < MinSeconds:
		return 0, 0, TooFewSeconds
	}
	return t.lowest, t.highest, ""
}

// add adds another step's throughput.
func (t *Throughput) add(o *Throughput) {
	if t.parts == 0 || o.parts > 0 && o.lowest < t.lowest {
		t.lowest = o.lowest
	}
	t.highest = max(t.highest, o.highest)
	t.parts += o.parts
	t.OK += o.OK
	t.Window += o.Window
	t.WholeSeconds += o.WholeSeconds
	t.noSeconds = t.noSeconds || o.noSeconds
	if t.Missing == "" {
		t.Missing = o.Missing
	}
}

// throughput returns the throughput in a window, from the counts for its seconds.
func (s span) throughput(seconds []int64) Throughput {
	t := Throughput{Window: time.Duration(s.length()), WholeSeconds: s.seconds()}
	for n, ok := range seconds {
		length := int64(time.Second)
		if n == len(seconds)-1 {
			length = s.length() - int64(n)*int64(time.Second)
		}
		if length <= 0 {
			continue
		}
		rate := float64(ok) / time.Duration(length).Seconds()
		t.add(&Throughput{OK: ok, lowest: rate, highest: rate, parts: 1})
	}
	return t
}

// stepCounts counts the requests that ended ok in each second in a window, by operation.
type stepCounts struct {
	window  span
	seconds map[string][]int64
	// operation and last belong to the row before: most rows share them.
	operation string
	last      []int64
}

func newStepCounts(window span) *stepCounts {
	return &stepCounts{window: window, seconds: map[string][]int64{}}
}

func (c *stepCounts) add(p *Progress) {
	if c.last == nil || c.operation != p.Operation {
		c.operation, c.last = p.Operation, c.seconds[p.Operation]
		if c.last == nil {
			c.last = make([]int64, max(c.window.seconds(), 1))
			c.seconds[p.Operation] = c.last
		}
	}
	if c.window.holds(p) {
		c.last[c.window.second(p)] += p.OK
	}
}

// throughputs returns the throughput by operation, "" for all operations.
func (c *stepCounts) throughputs() map[string]Throughput {
	out := map[string]Throughput{}
	all := make([]int64, max(c.window.seconds(), 1))
	for operation, seconds := range c.seconds {
		for n, ok := range seconds {
			all[n] += ok
		}
		out[operation] = c.window.throughput(seconds)
	}
	out[""] = c.window.throughput(all)
	return out
}

// ticks calls each with one progress.csv row after another, and returns the read error. A row is
// valid until the next. ticks is nil for records without progress.
type ticks func(each func(*Progress)) error

// progressIn returns the progress of a tag folder, whose file may lack its last line. It is nil
// for a folder in an older format.
func progressIn(dir string) ticks {
	if _, err := os.Stat(filepath.Join(dir, FileProgress)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return func(each func(*Progress)) error { return EachProgress(dir, each) }
}

// served returns the measured windows of all steps and the throughput in them by operation, "" for
// all operations; nil for records without progress. Ok counts all requests that ended ok, inside
// the windows or not. Each row is passed once to each function in also.
func (r *DatabaseRun) served(progress ticks, also ...func(*Progress)) (windows map[int]span, served map[int]map[string]Throughput, ok int64, err error) {
	if progress == nil {
		return nil, nil, 0, nil
	}
	windows = r.recordedSpans()
	counts, ends := map[int]*stepCounts{}, map[int]int64{} // when unrecorded steps end
	for step, window := range windows {
		counts[step] = newStepCounts(window)
	}
	err = progress(func(p *Progress) {
		ok += p.OK
		for _, each := range also {
			each(p)
		}
		if c := counts[p.Step]; c != nil {
			c.add(p)
		} else {
			ends[p.Step] = max(ends[p.Step], p.ToNS)
		}
	})
	if err == nil && len(ends) > 0 {
		for step, last := range ends {
			windows[step] = r.unrecordedSpan(step, last)
			counts[step] = newStepCounts(windows[step])
		}
		err = progress(func(p *Progress) {
			if _, late := ends[p.Step]; late {
				counts[p.Step].add(p)
			}
		})
	}
	served = map[int]map[string]Throughput{}
	for step, c := range counts {
		served[step] = c.throughputs()
	}
	return windows, served, ok, err
}
