package sysmetrics

import (
	"bytes"
	"strconv"
)

// children finds the direct children of a process. A kernel with CONFIG_PROC_CHILDREN lists them by
// the thread that started each. On other kernels, the parent of every process is read, once per
// sample.
type children struct {
	files    *files
	listed   bool
	byParent map[int][]int // for this sample; nil until needed
}

func newChildren(f *files) *children {
	_, err := f.read("thread-self", "children")
	return &children{files: f, listed: err == nil}
}

// begin forgets the parents read for the previous sample.
func (c *children) begin() { c.byParent = nil }

// of returns the children of pid, given its threads. Children that start or end meanwhile may or
// may not be included.
func (c *children) of(pid int, threads []int) []int {
	if !c.listed {
		if c.byParent == nil {
			c.byParent = c.files.parents()
		}
		return c.byParent[pid]
	}
	var all []int
	for _, tid := range threads {
		data, err := c.files.read(strconv.Itoa(pid), "task", strconv.Itoa(tid), "children")
		if err != nil {
			continue // the thread has ended; another thread has adopted its children
		}
		all = append(all, parseChildren(data)...)
	}
	return all
}

func parseChildren(data []byte) []int {
	var pids []int
	for field := range bytes.FieldsSeq(data) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parents returns all processes by parent.
func (f *files) parents() map[int][]int {
	byParent := map[int][]int{}
	pids, _ := f.numbers()
	for _, pid := range pids {
		data, err := f.read(strconv.Itoa(pid), fileStat)
		if err != nil {
			continue // the process has ended
		}
		if s, err := parseStat(data); err == nil {
			byParent[s.ppid] = append(byParent[s.ppid], pid)
		}
	}
	return byParent
}
