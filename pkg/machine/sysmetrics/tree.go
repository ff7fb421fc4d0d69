package sysmetrics

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/coreos/dbtester/pkg/metric"
)

// usage has tree metrics, summed over its processes. Counters include ended processes and never
// fall. All other metrics cover the running processes and are unknown if no process runs: the
// memory of an ended tree is unknown instead of 0.
type usage struct {
	main      *proc     // the first running root, or else the last that ran
	values    []float64 // in tree metric order; -1 if access was denied
	fds       float64   // -1 if access was denied
	processes float64   // always known: 0 if no process runs
}

// tree follows some processes and, on request, their descendants. A process is followed until it
// ends, even if its parent ends earlier.
type tree struct {
	files         *files
	processFiles  []processFile
	metrics       []treeMetric
	threadSources []*processSource
	children      *children // nil: descendants are not followed
	// whole means that the sample reads the threads and looks for new descendants. Otherwise it
	// only reads known processes.
	whole bool
	main  *proc
	procs map[identity]*proc
	// ended is by metric: for processes that ended and have no parent in the tree, and for the
	// busiest threads all.
	ended []float64
}

func newTree(f *files, descendants bool) *tree {
	t := &tree{files: f, whole: true, procs: map[identity]*proc{}}
	t.processFiles, t.metrics, t.threadSources = processFiles(metric.Sources(), metric.System())
	t.ended = make([]float64, len(t.metrics))
	if descendants {
		t.children = newChildren(f)
	}
	return t
}

// sample reads the tree once. The error names the files of running processes that could not be
// read.
func (t *tree) sample(roots []int) (usage, error) {
	if t.children != nil {
		t.children.begin()
	}
	r := reading{tree: t, visited: map[int]bool{}, now: map[identity]*proc{}}
	r.descend(roots)
	// Children whose parents ended; oldest first, so that parents precede children.
	known := slices.SortedFunc(maps.Keys(t.procs), func(a, b identity) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
	})
	for _, id := range known {
		r.descend([]int{id.pid})
	}
	t.settle(r.now)
	t.procs = r.now
	for _, s := range t.threadSources {
		t.addBusiest(s)
	}
	t.chooseMain(roots)
	return t.sum(), errors.Join(r.problems...)
}

// reading is one pass over a tree.
type reading struct {
	tree     *tree
	visited  map[int]bool
	now      map[identity]*proc
	problems []error
}

// descend reads processes and their descendants, parents before children. If a child ends in
// between, it is missing and its parent's floor compensates. In the opposite order, its time would
// count twice: as its own and in its parent.
func (r *reading) descend(pids []int) {
	queue := slices.Clone(pids)
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		if r.visited[pid] {
			continue
		}
		r.visited[pid] = true
		p, threads, err := r.tree.proc(pid, r.tree.procs)
		if gone(err) {
			continue
		}
		if err != nil {
			r.problems = append(r.problems, err)
		}
		if p == nil {
			continue
		}
		r.now[p.id] = p
		if r.tree.children != nil && r.tree.whole {
			queue = append(queue, r.tree.children.of(pid, threads)...)
		}
	}
}

// addBusiest adds the growth of the busiest thread.
func (t *tree) addBusiest(s *processSource) {
	var most []float64
	for _, p := range t.procs {
		grown := p.threads[s.thread].busiest
		p.threads[s.thread].busiest = nil // counted
		if grown != nil && (most == nil || growth(nil, grown, 0) > growth(nil, most, 0)) {
			most = grown
		}
	}
	for i, n := range most {
		t.ended[s.first+s.Busiest+i] += n
	}
}

// settle hands over the counts of ended processes.
func (t *tree) settle(now map[identity]*proc) {
	last := map[int]*proc{}
	for id, p := range t.procs {
		last[id.pid] = p
	}
	for id, p := range t.procs {
		if now[id] != nil {
			continue
		}
		heir := heir(p, last, now)
		for i, m := range t.metrics {
			if m.Kind == metric.Counter {
				t.settleCounter(i, p, heir)
			}
		}
	}
}

// settleCounter hands over one count. If descendants are not followed, the waited-for count is not
// part of the sum, unless the kernel includes it.
func (t *tree) settleCounter(i int, p, heir *proc) {
	v := p.values[i]
	switch {
	case t.children == nil && !t.metrics[i].source.Inclusive:
		t.ended[i] += v.own
	case heir == nil:
		t.ended[i] += v.own + v.waited.value
	default:
		heir.values[i].waited.inherit(v.own + v.waited.value)
	}
}

// heir returns the nearest running ancestor of p in the tree, or nil. The kernel adds p's usage
// there if p was waited for.
func heir(p *proc, last map[int]*proc, now map[identity]*proc) *proc {
	for range len(last) {
		parent := last[p.stat.ppid]
		if parent == nil {
			return nil
		}
		if running := now[parent.id]; running != nil {
			return running
		}
		p = parent
	}
	return nil
}

// chooseMain selects the process after which a sample is named.
func (t *tree) chooseMain(roots []int) {
	for _, pid := range roots {
		for id, p := range t.procs {
			if id.pid == pid {
				t.main = p
				return
			}
		}
	}
	if t.main != nil && t.procs[t.main.id] == nil {
		ended := *t.main
		ended.status.state = ""
		t.main = &ended
	}
}

func (t *tree) sum() usage {
	u := usage{main: t.main, values: make([]float64, len(t.metrics))}
	for _, p := range t.procs {
		if !p.ended() {
			u.fds = plus(u.fds, p.fds, p.fds < 0)
			u.processes++
		}
	}
	if u.processes == 0 {
		u.fds = metric.Unknown
	}
	for i, m := range t.metrics {
		if u.values[i] = t.total(i, m); u.values[i] >= 0 && m.source.Divisor > 0 {
			u.values[i] /= m.source.Divisor
		}
		if m.Kind != metric.Counter && u.processes == 0 {
			u.values[i] = metric.Unknown
		}
	}
	return u
}

// total sums one metric over the processes, in its source's units.
func (t *tree) total(i int, m treeMetric) float64 {
	if m.Kind != metric.Counter {
		sum := 0.0
		for _, p := range t.procs {
			if !p.ended() {
				sum = plus(sum, p.values[i].own, p.values[i].unknown)
			}
		}
		return sum
	}
	sum := t.ended[i]
	for _, p := range t.procs {
		v := &p.values[i]
		n := v.own
		if t.children != nil || m.source.Inclusive {
			n += v.waited.value
		}
		sum = plus(sum, n, v.unknown)
	}
	return sum
}

// plus adds to a sum, which becomes -1 once any part is unknown.
func plus(sum, n float64, unknown bool) float64 {
	if sum < 0 || unknown {
		return metric.Unknown
	}
	return sum + n
}
