package schedule

import (
	"sort"
	"sync/atomic"
)

// computed is a schedule whose due times follow from request numbers alone.
type computed struct {
	at    func(i int64) int64 // when request i is due; it never decreases
	taken atomic.Int64
	limit int64 // requests
	end   int64 // nothing is due at or after end
}

var (
	_ Schedule = (*computed)(nil)
	_ Leaver   = (*computed)(nil)
)

// Next computes the due time.
func (c *computed) Next() (int64, int64, bool) {
	i := c.taken.Add(1) - 1
	if i >= c.limit {
		return i, 0, false
	}
	due := c.at(i)
	return i, due, due < c.end
}

// Due finds the number by bisection.
func (c *computed) Due(t int64) (int64, int64) { return c.before(t), c.last() }

func (c *computed) last() int64 { return min(c.at(max(c.limit-1, 0)), c.end) }

// Leave finds the number as Due does.
func (c *computed) Leave(t int64) (int64, int64) { return leave(&c.taken, c.before(t)) }

func (c *computed) before(t int64) int64 {
	t = min(t, c.end)
	return int64(sort.Search(int(c.limit), func(i int) bool { return c.at(int64(i)) >= t }))
}

func (c *computed) Used() int64 { return used(&c.taken, c.limit, c.end, c.before) }
