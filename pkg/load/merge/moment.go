package merge

import (
	"cmp"
	"time"
)

// moment is one second of one step.
type moment struct {
	step   int
	second int64
}

func (a moment) compare(b moment) int {
	return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.second, b.second))
}

// start returns when the second begins.
func (a moment) start() time.Time { return time.Unix(a.second, 0).UTC() }
