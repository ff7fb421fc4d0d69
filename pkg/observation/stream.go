package observation

import (
	"time"

	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Stream writes the seconds for a group as they become final, and adds them up. Its memory does not
// grow with their number, and a killed process leaves the written seconds. It is not safe for
// concurrent use.
type Stream struct {
	sums
	dir   string
	start time.Time
	files *Writer // nil before the first second
	err   error   // from the first failed write
}

// NewStream returns a stream into dir, the folder of a tag, which opens the files of g with the
// first second. Times must not belong to a second before start.
func NewStream(g Group, dir string, start time.Time) *Stream {
	return &Stream{sums: newSums(g), dir: dir, start: start}
}

// Group returns the group of the seconds.
func (s *Stream) Group() Group { return s.group }

// Write appends seconds. The same second may be written several times: [Read] merges its rows. After a
// failed write every Write returns that error.
func (s *Stream) Write(seconds []Second) error {
	s.add(seconds)
	if s.err != nil || len(seconds) == 0 {
		return s.err
	}
	if s.files == nil {
		if s.files, s.err = NewWriter(s.group, s.dir, s.start); s.err != nil {
			return s.err
		}
	}
	s.err = s.files.Write(seconds)
	return s.err
}

// Totals returns the totals over all seconds, written or not, by value name.
func (s *Stream) Totals() map[string]Total { return s.totals() }

// Close closes the files. It does not repeat an earlier write error.
func (s *Stream) Close() error {
	if s.files == nil {
		return nil
	}
	return s.files.Close()
}

// sums adds up the seconds for a group.
type sums struct {
	group   Group
	numbers []Number // without histograms
	times   []histogram.Sum
}

func newSums(g Group) sums {
	return sums{group: g, numbers: make([]Number, len(g.Values)), times: make([]histogram.Sum, len(g.Values))}
}

func (s *sums) add(seconds []Second) {
	for _, second := range seconds {
		for i, v := range s.group.Values {
			one := second.Numbers[i]
			s.times[i].Add(one.Times)
			one.Times = nil
			s.numbers[i] = v.Merging.merged(s.numbers[i], one)
		}
	}
}

// totals leaves out values that were never observed.
func (s *sums) totals() map[string]Total {
	totals := map[string]Total{}
	for i, v := range s.group.Values {
		sum, times := s.numbers[i], s.times[i].Buckets()
		if sum.N == 0 {
			continue
		}
		t := Total{N: sum.N, Value: sum.Value, Longest: time.Duration(sum.Longest)}
		n := times.Total()
		if histogram.Enough(.5, n) {
			t.P50 = time.Duration(times.Quantile(.5))
		}
		if histogram.Enough(.99, n) {
			t.P99 = time.Duration(times.Quantile(.99))
		}
		totals[v.Name] = t
	}
	return totals
}
