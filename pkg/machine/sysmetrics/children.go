package sysmetrics

import (
	"bytes"
	"strconv"
)

// children finds the direct children of a process. The kernel lists them by the
// thread that started each, where it is built with CONFIG_PROC_CHILDREN;
// elsewhere the parents of all processes are read, once per sample.
type children struct {
	files    *files
	listed   bool
	byParent map[int][]int // of this sample; nil until it is needed
}

func newChildren(f *files) *children {
	_, err := f.read("thread-self", "children")
	return &children{files: f, listed: err == nil}
}

// begin drops the parents that the sample before read.
func (c *children) begin() { c.byParent = nil }

// of returns the children of pid, which has these threads. A child that comes or
// goes meanwhile may or may not be among them.
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
			continue // the thread has ended; its children are another's now
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

// parents returns all processes by their parent.
func (f *files) parents() map[int][]int {
	byParent := map[int][]int{}
	pids, _ := f.numbers()
	for _, pid := range pids {
		data, err := f.read(strconv.Itoa(pid), fileStat)
		if err != nil {
			continue // it has ended
		}
		if s, err := parseStat(data); err == nil {
			byParent[s.ppid] = append(byParent[s.ppid], pid)
		}
	}
	return byParent
}
