package sysmetrics

import (
	"cmp"
	"errors"
	"maps"
	"slices"
)

// usage is what a tree uses, summed over its processes. Counters include the
// processes that have ended and never fall; the rest is of those that run, and -1
// if none does: a tree that has ended has no memory, which is not one of 0 bytes.
type usage struct {
	main                     *proc // the first root that runs, else the last that did
	cpuTicks                 int64
	disk                     diskBytes // -1 if denied
	switches                 switches
	rss, anon, peak, virtual int64
	fds                      int64 // -1 if denied, too
	threads                  int64
	processes                int64 // known: 0 if none runs
}

// tree follows some processes and, if asked to, their descendants. A process
// once seen is followed until it ends, even if its parent ends before it.
type tree struct {
	files    *files
	children *children // nil: no descendants
	main     *proc
	procs    map[identity]*proc
	ended    counters // of processes that ended and left no parent in the tree
}

// counters are what a process leaves behind.
type counters struct {
	cpuTicks int64
	disk     diskBytes
	switches switches
}

func newTree(f *files, descendants bool) *tree {
	t := &tree{files: f, procs: map[identity]*proc{}}
	if descendants {
		t.children = newChildren(f)
	}
	return t
}

// sample reads the tree once. The error names what could not be read of
// processes that do run.
func (t *tree) sample(roots []int) (usage, error) {
	if t.children != nil {
		t.children.begin()
	}
	r := reading{tree: t, visited: map[int]bool{}, now: map[identity]*proc{}}
	r.descend(roots)
	// Children whose parents ended; the oldest first, so parents before children.
	known := slices.SortedFunc(maps.Keys(t.procs), func(a, b identity) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
	})
	for _, id := range known {
		r.descend([]int{id.pid})
	}
	t.settle(r.now)
	t.procs = r.now
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

// descend reads processes and their descendants, parents before children: a
// child that ends in between is then missing, and its parent's floor makes up
// for it, while the other way round its time would count as its own and as its
// parent's.
func (r *reading) descend(pids []int) {
	queue := slices.Clone(pids)
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		if r.visited[pid] {
			continue
		}
		r.visited[pid] = true
		p, threads, err := r.tree.files.proc(pid, r.tree.procs)
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
		if r.tree.children != nil {
			queue = append(queue, r.tree.children.of(pid, threads)...)
		}
	}
}

// settle passes on what the processes that are no longer there have counted.
func (t *tree) settle(now map[identity]*proc) {
	last := map[int]*proc{}
	for id, p := range t.procs {
		last[id.pid] = p
	}
	for id, p := range t.procs {
		if now[id] != nil {
			continue
		}
		t.ended.switches.add(p.switches.sum())
		heir := heir(p, last, now)
		if heir == nil {
			t.ended.disk.read += p.read.value
			t.ended.disk.write += p.write.value
		} else {
			heir.read.inherit(p.read.value)
			heir.write.inherit(p.write.value)
		}
		switch {
		case t.children == nil: // the parent's waited time isn't counted
			t.ended.cpuTicks += p.own
		case heir == nil:
			t.ended.cpuTicks += p.own + p.waited.value
		default:
			heir.waited.inherit(p.own + p.waited.value)
		}
	}
}

// heir is the nearest ancestor of p that still runs, which is where the kernel
// adds what p used, if it was waited for. It is nil if there is none in the tree.
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

// chooseMain finds the process a sample is named after.
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
	u := usage{main: t.main, cpuTicks: t.ended.cpuTicks, disk: t.ended.disk, switches: t.ended.switches}
	for _, p := range t.procs {
		u.cpuTicks += p.own
		if t.children != nil {
			u.cpuTicks += p.waited.value
		}
		u.disk.read = plus(u.disk.read, p.read.value, p.diskDenied)
		u.disk.write = plus(u.disk.write, p.write.value, p.diskDenied)
		u.switches.add(p.switches.sum())
		u.rss += p.status.rss
		u.anon += p.status.anon
		u.peak += p.status.peak
		u.virtual += p.status.virtual
		u.fds = plus(u.fds, p.fds, p.fdsDenied)
		if !p.ended() {
			u.threads += p.status.threads
			u.processes++
		}
	}
	if u.processes == 0 {
		u.rss, u.anon, u.peak, u.virtual, u.fds, u.threads = -1, -1, -1, -1, -1, -1
	}
	return u
}

// plus adds to a sum that is -1 once a part of it is unknown.
func plus(sum, n int64, unknown bool) int64 {
	if sum < 0 || unknown {
		return -1
	}
	return sum + n
}
