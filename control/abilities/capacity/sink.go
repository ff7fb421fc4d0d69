package capacity

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	declared "github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/stats/capacity"
	"github.com/coreos/dbtester/pkg/workload"
)

// Sink receives the records from all windows. Those from the search go to their own folder. Those
// from a last window go to the tag folder, and are moved to the search folder if another window
// follows. Sink also counts the requests in each window. One goroutine at a time calls the methods
// of [load.Sink].
type Sink struct {
	dir   string
	files *load.Files
	moved int // holds whose records were moved away
	last  bool

	mu    sync.Mutex
	tally *tally
}

// NewSink returns the sink for the tag folder dir, which exists.
func NewSink(dir string) *Sink { return &Sink{dir: dir} }

// openSearch opens the records for the search.
func (s *Sink) openSearch() (err error) {
	dir := filepath.Join(s.dir, declared.Dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of windows: %w", err)
	}
	s.files, err = load.NewFiles(dir, time.Now())
	return err
}

// openLast opens the records for the run. Existing ones are moved to the search folder.
func (s *Sink) openLast() (err error) {
	if err := s.Close(); err != nil {
		return err
	}
	if s.last {
		s.moved++
		to := filepath.Join(s.dir, declared.Dir, fmt.Sprintf("hold-%d", s.moved))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return fmt.Errorf("make the folder of a hold: %w", err)
		}
		for _, name := range load.FileNames() {
			if err := os.Rename(filepath.Join(s.dir, name), filepath.Join(to, name)); err != nil {
				return fmt.Errorf("move the records of a hold: %w", err)
			}
		}
	}
	s.last = true
	s.files, err = load.NewFiles(s.dir, time.Now())
	return err
}

// Close closes the records that are open.
func (s *Sink) Close() error {
	if s.files == nil {
		return nil
	}
	err := s.files.Close()
	s.files = nil
	return err
}

// begin counts the next window from zero. decided is called when more than budget requests have
// missed the limit; a negative budget is unlimited.
func (s *Sink) begin(limit time.Duration, budget int64, decided func()) *tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally = &tally{limit: int64(limit), budget: budget, decided: decided}
	return s.tally
}

// Second implements [load.Sink].
func (s *Sink) Second(second load.Second) error {
	s.mu.Lock()
	t := s.tally
	s.mu.Unlock()
	if t != nil {
		t.add(second)
	}
	return s.files.Second(second)
}

// Total implements [load.Sink].
func (s *Sink) Total(t load.Total) error { return s.files.Total(t) }

// Member implements [load.MemberSink].
func (s *Sink) Member(t load.MemberTotal) error { return s.files.Member(t) }

// measured counts the requests that were due in one window by their outcomes.
type measured struct {
	// within kept the limit and over were answered later. slow were answered later even when
	// timed from when they were sent.
	due, within, over, slow, failed, declined, shed, unsent, late int64
	// stopped is the time in which the client process did not run, in ns.
	stopped int64
	full    bool
}

// tally counts one window. The goroutine that writes seconds uses it, and another one after the
// window has ended.
type tally struct {
	measured
	limit, budget int64
	decided       func()
}

// add counts a second.
func (t *tally) add(s load.Second) {
	if slices.ContainsFunc(s.Intervals, func(iv results.Interval) bool { return iv.Phase == results.PhaseMeasure }) {
		t.stopped += s.Intervals[0].GapNS
	}
	for i := range s.Intervals {
		iv := &s.Intervals[i]
		if iv.Phase != results.PhaseMeasure {
			continue
		}
		t.due += iv.Due
		t.failed += iv.Failed + iv.Unknown
		t.shed += iv.Shed
		t.unsent += iv.Unsent
		t.late += iv.Late
	}
	for _, l := range slices.Concat(s.Latencies, s.Failures) {
		ok, declined := l.Series.Outcome == workload.OK, l.Series.Outcome == workload.Declined
		if l.Series.Phase != results.PhaseMeasure || !ok && !declined {
			continue
		}
		if l.Series.Timing == results.TimingService {
			t.slow += l.Histogram.TotalCount() - histogram.AtMost(l.Histogram, t.limit)
			continue
		}
		if declined {
			t.declined += l.Histogram.TotalCount()
		}
		n := histogram.AtMost(l.Histogram, t.limit)
		t.within += n
		t.over += l.Histogram.TotalCount() - n
	}
	for _, e := range s.Errors {
		t.full = t.full || database.Class(e.Class) == database.ClassSpaceExceeded
	}
	// That requests missed the limit may be the client's fault. Too few clients excuse no request
	// here: their window is void whenever it ends.
	if t.budget >= 0 && t.over+t.lost()-t.belated(false, t.limit) > t.budget {
		t.budget = -1
		t.decided()
	}
}

// end returns the counts, once the window has ended.
func (t *tally) end() measured { return t.measured }

// lost counts the requests without an answer.
func (m *measured) lost() int64 { return m.failed - m.declined + m.shed + m.unsent }

// delayed counts the requests that the client delayed: late ones, and shed ones where the clients
// are too few for the rate, or where the client's process stood still for longer than the limit
// in ns.
func (m *measured) delayed(few bool, limit int64) int64 {
	if few || m.stopped > limit {
		return m.late + m.shed
	}
	return m.late
}

// belated counts the delayed requests that missed the limit because of the client. Where the client
// stood still or has too few clients, that may be any of them. Otherwise it is at most those that
// kept the limit when timed from sending: a request sent 2 ms late and answered after ten times the
// limit is slow.
func (m *measured) belated(few bool, limit int64) int64 {
	delayed := m.delayed(few, limit)
	if few || m.stopped > limit {
		return delayed
	}
	return min(delayed, max(m.over-m.slow, 0))
}

// window returns the counts that the state machine judges.
func (m *measured) window(rate float64, clients int, limit time.Duration, res load.StepResult) capacity.Window {
	few := float64(clients) < rate*limit.Seconds()
	w := capacity.Window{
		Rate: rate, Offered: m.due, Over: m.due - m.within, Failed: m.lost(), StoreFull: m.full,
		Late: m.delayed(few, int64(limit)), Belated: m.belated(few, int64(limit)),
	}
	if g := res.LargestGap; g != nil {
		w.Pause = max(0, g.Length()-time.Duration(float64(time.Second)/rate)-time.Duration(m.stopped))
	}
	return w
}

var _ load.MemberSink = (*Sink)(nil)
