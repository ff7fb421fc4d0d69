package run

import (
	"math"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// ownOf returns a member with these fsync counts in seconds from 0; each fsync took 5 ms. A
// negative number is an unanswered question.
func ownOf(fsyncs ...float64) Own {
	var own Own
	for second, n := range fsyncs {
		s := results.NewDatabaseSample()
		s.UnixNano = int64(second)*1e9 + 2e6
		if n < 0 {
			own.lostAt = append(own.lostAt, s.UnixNano)
			continue
		}
		s.Values.Set(metric.Fsyncs, n)
		s.Histograms[metric.FsyncHistogram] = metric.Buckets{Bounds: []float64{.001, .008, math.Inf(1)}, Counts: []float64{0, n, n}}
		own.Answers.Append(&s)
	}
	return own
}

func TestOwn(t *testing.T) {
	windows := []Span{{2e9, 4e9}, {5e9, 6e9}}
	own := ownOf(10, 20, 30, -1, 50, 60, 100, 1000)
	if got := own.Growth(windows, metric.Fsyncs); !got.Known() || got.Value != 20+40 {
		t.Errorf("want 60 fsyncs in both windows: 20 from 2 s on and 40 from 5 s on, got %+v", got)
	}
	buckets, of := own.Histogram(windows, metric.FsyncHistogram)
	if low, high, known := buckets.Quantile(.99); !of.Known() || of.N != 60 || !known || low != .001 || high != .008 {
		t.Errorf("want 60 values with the 99th percentile between 1 and 8 ms, got %+v, %g, %g", of, low, high)
	}
	if got := own.Peak(windows, metric.Fsyncs); got.Value != 60 {
		t.Errorf("the largest value in the windows is that of 5 s, 60, got %+v", got)
	}
	if got := own.Last(metric.Fsyncs); got.Value != 1000 {
		t.Errorf("the last value is 1000, got %+v", got)
	}
	if n := own.LostWithin(Span{0, 9e9}); n != 1 {
		t.Errorf("one question had no answer, got %d", n)
	}
	if own.Reports(metric.Commits) || !own.Reports(metric.Fsyncs) || !own.Reports(metric.FsyncHistogram) {
		t.Error("the member reports fsyncs and no commits")
	}
}

// Growth before and after a window is left out if the window has three answers.
func TestInside(t *testing.T) {
	own := ownOf(0, 1000, 2000, 2010, 2020, 2030, 5000)
	for name, c := range map[string]struct {
		windows      []Span
		want, around float64
	}{
		"its own answers":       {[]Span{{1.5e9, 5.5e9}}, 30, 4000},
		"too few answers":       {[]Span{{2.5e9, 4.5e9}}, 30, 30},
		"too few in one of two": {[]Span{{1.5e9, 4.5e9}, {5.5e9, 6e9}}, 4000, 4000},
		"of two":                {[]Span{{-.5e9, 2.5e9}, {2.9e9, 5.5e9}}, 2000 + 20, 5000},
	} {
		got := own.Inside(c.windows, metric.Fsyncs)
		if around := own.Growth(c.windows, metric.Fsyncs); !got.Known() || got.Value != c.want || around.Value != c.around {
			t.Errorf("%s: got %+v and around it %+v, want %g and %g", name, got, around, c.want, c.around)
		}
	}
	windows := []Span{{1.5e9, 5.5e9}}
	own.settle(windows)
	if got := own.Inside(windows, metric.Fsyncs); got.Value != 30 {
		t.Errorf("settled, got %+v, want 30", got)
	}
}

// The steps in a load follow each other within a second, so one interval between answers lies in
// two windows. Whatever the windows, a counter cannot have grown by more than from the first answer
// to the last.
func TestOwnCountsIntervalsOnce(t *testing.T) {
	own := ownOf(0, 10, 30, 70, 150, 310, 630, 1270)
	for name, test := range map[string]struct {
		windows []Span
		want    float64
	}{
		"one after the other":       {[]Span{{2e9, 4.4e9}, {4.41e9, 6e9}}, 630 - 30},
		"three in a second":         {[]Span{{4.1e9, 4.3e9}, {4.3e9, 4.5e9}, {4.5e9, 4.8e9}}, 310 - 150},
		"a sample in common":        {[]Span{{2e9, 4e9}, {4e9, 6e9}}, 630 - 30},
		"one interval between them": {[]Span{{1e9, 3e9}, {4e9, 6e9}}, 70 - 10 + 630 - 150},
	} {
		got := own.Growth(test.windows, metric.Fsyncs)
		_, of := own.Histogram(test.windows, metric.FsyncHistogram)
		if !got.Known() || got.Value != test.want || of.N != int64(test.want) {
			t.Errorf("%s: want %v fsyncs and as many values, got %+v and %+v", name, test.want, got, of)
		}
	}
}

func TestOwnThatIsMissing(t *testing.T) {
	windows := []Span{{1e9, 4e9}}
	for name, test := range map[string]struct {
		own Own
		why string
	}{
		"nothing":        {Own{}, "fewer than twice"},
		"before only":    {ownOf(10), "fewer than twice"},
		"started again":  {ownOf(10, 20, 5, 10, 20), "started again"},
		"not this value": {Own{Answers: packed.AnswersOf(results.NewDatabaseSample(), results.NewDatabaseSample())}, "fewer than twice"},
	} {
		got := test.own.Growth(windows, metric.Fsyncs)
		_, of := test.own.Histogram(windows, metric.FsyncHistogram)
		if got.Known() || of.Known() || !strings.Contains(got.Missing, test.why) || of.Missing == "" {
			t.Errorf("%s: want no number, because of %q, got %+v and %+v", name, test.why, got, of)
		}
	}
	five := ownOf(1, 2, 3, 4, 5)
	if got := five.Growth(windows, metric.Commits); got.Known() || !strings.Contains(got.Missing, "not reported") {
		t.Errorf("a metric that is not reported has no growth, got %+v", got)
	}
}

// A missing or broken file does not stop a run from being read.
func TestReadOwn(t *testing.T) {
	var gaps Gaps
	if own := readOwn(t.TempDir()+"/none.csv", clocks.Track{}, &gaps); own.Answers.Len() > 0 || len(gaps.List) > 0 {
		t.Errorf("a file that is not there must have no rows and no gap, got %+v, %v", own, gaps.List)
	}
}
