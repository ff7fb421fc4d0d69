package schedule

import "sync/atomic"

// closedLoop numbers requests as clients take them. A client takes one when its last
// request ended, so a request is due when it is sent and no due time is known ahead.
type closedLoop struct {
	taken atomic.Int64
	limit int64
}

var _ Schedule = (*closedLoop)(nil)

// Next returns due time 0: at once.
func (s *closedLoop) Next() (int64, int64, bool) {
	i := s.taken.Add(1) - 1
	return i, 0, i < s.limit
}

// Due returns no bound: nothing is known ahead.
func (s *closedLoop) Due(int64) (int64, int64) { return 0, Never }

func (s *closedLoop) Used() int64 { return min(s.taken.Load(), s.limit) }
