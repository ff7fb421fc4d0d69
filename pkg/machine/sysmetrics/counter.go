package sysmetrics

// inherited is a count that includes the children a process has waited for. It
// keeps the sum over a tree from falling, and from counting twice, when a child
// ends: the child's last count is added to a floor under its parent's, and the
// parent's own count rises above that floor when (and if) it includes the child.
type inherited struct {
	raw   float64 // as last read
	floor float64
	value float64 // the larger of both; never falls
}

// update sets a new reading.
func (c *inherited) update(raw float64) {
	c.floor = c.value
	c.raw = raw
	c.value = max(raw, c.floor)
}

// inherit adds the last count of a child that has ended since the reading before.
// It is called after update.
func (c *inherited) inherit(last float64) {
	c.floor += last
	c.value = max(c.raw, c.floor)
}

// value is one metric of one process, in units of the source.
type value struct {
	// own is a gauge, or a counter without the children that were waited for. It is 0
	// for a counter in which the kernel includes them.
	own     float64
	waited  inherited
	unknown bool
}

// threadCounts are counters that the kernel keeps by thread and drops when a
// thread ends. The last counts of such a thread are kept. Its work after the last
// sample, and threads that lived between two samples, are missing: the sum is
// a lower bound.
type threadCounts struct {
	first []float64 // of the process's first thread; nil if unknown
	live  map[int][]float64
	ended []float64
}

// update sets the counts of the threads that run now.
func (t *threadCounts) update(now map[int][]float64, metrics int) {
	ended := make([]float64, metrics)
	copy(ended, t.ended) // the reading before keeps its own
	for tid, last := range t.live {
		current, ok := now[tid]
		if !ok || anyFell(last, current) {
			add(ended, last) // ended, or its number now names another thread
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
