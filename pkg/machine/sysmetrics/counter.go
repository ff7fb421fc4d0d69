package sysmetrics

import "slices"

// inherited is a count that includes waited-for children. It prevents the sum over a tree from
// falling, or from counting twice, when a child ends. The child's last count is added to a floor
// below the parent's count, and the parent's own count exceeds the floor when (and if) it includes
// the child.
type inherited struct {
	raw   float64 // last reading
	floor float64
	value float64 // maximum of raw and the floor; never falls
}

// update sets a new reading.
func (c *inherited) update(raw float64) {
	c.floor = c.value
	c.raw = raw
	c.value = max(raw, c.floor)
}

// inherit adds the last count from a child that has ended since the previous reading. Call it after
// update.
func (c *inherited) inherit(last float64) {
	c.floor += last
	c.value = max(c.raw, c.floor)
}

// value is one metric for one process, in the units of its source.
type value struct {
	// own is a gauge, or a counter without waited-for children. It is 0 for a counter in which the
	// kernel includes them.
	own     float64
	waited  inherited
	unknown bool
}

// threadCounts are counters that the kernel keeps per thread and drops when a thread ends. The last
// counts of an ended thread are kept. Its work after the last sample, and threads that lived
// between two samples, are missing, so the sum is a lower bound.
type threadCounts struct {
	first []float64 // the first thread's; nil if unknown
	live  map[int][]float64
	ended []float64
	// busiest is the growth of the busiest thread's metrics, from [metric.Source.Busiest] on, since
	// the reading before; nil unless there are two readings.
	busiest []float64
}

// update sets the counts of the running threads for a source.
func (t *threadCounts) update(now map[int][]float64, s *processSource) {
	t.busiest = busiest(t.live, now, s.Busiest)
	ended := make([]float64, len(s.Metrics))
	copy(ended, t.ended) // the previous reading keeps its slice
	for tid, last := range t.live {
		current, ok := now[tid]
		if !ok || anyFell(last, current) {
			add(ended, last) // the thread has ended, or its number now names another thread
		}
	}
	t.live, t.ended = now, ended
}

func (t *threadCounts) sum(metric int) float64 {
	total := t.ended[metric]
	for _, counts := range t.live {
		total += counts[metric]
	}
	return total
}

func anyFell(before, now []float64) bool {
	for i := range before {
		if now[i] < before[i] {
			return true
		}
	}
	return false
}

func add(sum, counts []float64) {
	for i, n := range counts {
		sum[i] += n
	}
}

// busiest returns the growth, from an index on, of the thread whose growth is largest in sum. A new
// thread has grown from 0.
func busiest(before, now map[int][]float64, from int) []float64 {
	if before == nil || from == 0 {
		return nil
	}
	var most, since []float64
	thread, largest := 0, -1.0
	for tid, counts := range now {
		last := before[tid]
		if last != nil && anyFell(last, counts) {
			last = nil // its number names another thread now
		}
		if grown := growth(last, counts, from); grown > largest || grown == largest && tid < thread {
			thread, largest, most, since = tid, grown, counts, last
		}
	}
	if most == nil {
		return nil
	}
	grown := slices.Clone(most[from:])
	if since != nil {
		for i := range grown {
			grown[i] -= since[from+i]
		}
	}
	return grown
}

// growth sums the growth of the counts from an index on; before is nil for a new thread.
func growth(before, now []float64, from int) (sum float64) {
	for i := from; i < len(now); i++ {
		sum += now[i]
		if before != nil {
			sum -= before[i]
		}
	}
	return sum
}
