package sysmetrics

// tally is a counter of one process in which the kernel includes the children
// the process has waited for. It keeps a tree's sum from falling, and from
// counting twice, when a child ends: the child's last count is added to a floor
// under its parent's, and the parent's own counter rises above that floor when
// (and if) it takes the child's in.
type tally struct {
	raw   int64 // as last read
	floor int64
	value int64 // the larger of both; never falls
}

// update takes a new reading.
func (t *tally) update(raw int64) {
	t.floor = t.value
	t.raw = raw
	t.value = max(raw, t.floor)
}

// inherit takes the last count of a child that has ended since the reading
// before; it is called after update.
func (t *tally) inherit(last int64) {
	t.floor += last
	t.value = max(t.raw, t.floor)
}

// switches are context switches.
type switches struct{ voluntary, nonvoluntary int64 }

func (s *switches) add(o switches) {
	s.voluntary += o.voluntary
	s.nonvoluntary += o.nonvoluntary
}

// threadSwitches sums the context switches of a process, which the kernel counts
// by thread and forgets when a thread ends. A thread's last count is kept. What
// it did after the last sample, and threads that lived between two samples, are
// missing: the sum is a lower bound.
type threadSwitches struct {
	live  map[int]switches
	ended switches
}

// update takes the counts of the threads that run now.
func (t *threadSwitches) update(now map[int]switches) {
	for tid, last := range t.live {
		current, ok := now[tid]
		if !ok || current.voluntary < last.voluntary || current.nonvoluntary < last.nonvoluntary {
			t.ended.add(last) // ended, or its number now names another thread
		}
	}
	t.live = now
}

func (t *threadSwitches) sum() switches {
	total := t.ended
	for _, s := range t.live {
		total.add(s)
	}
	return total
}
