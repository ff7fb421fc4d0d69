package cgroup

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/coreos/dbtester/pkg/process/mounts"
)

// fake is a kernel with groups in a temporary directory. Its files behave like those in both
// versions: /proc/self below proc, version 2 below unified, version 1 below its controllers.
type fake struct {
	t    *testing.T
	root string
	// sealed are directories in which no group can be made.
	sealed []string
	killed []int
}

var _ kernel = (*fake)(nil)

// newFake returns a kernel whose process, with this id, is in the groups that lines as in
// proc_pid_cgroup(5) name.
func newFake(t *testing.T, groups string, mountLines ...string) *fake {
	f := &fake{t: t, root: t.TempDir()}
	f.put("proc/cgroup", groups)
	f.put("proc/mountinfo", strings.ReplaceAll(strings.Join(mountLines, ""), "ROOT", f.root))
	return f
}

// The mounts of a fake.
const (
	mountUnified = "1 0 0:1 / ROOT/unified rw - cgroup2 cgroup2 rw\n"
	mountCPU     = "2 0 0:2 / ROOT/cpu rw - cgroup cgroup rw,cpu\n"
	mountMemory  = "3 0 0:3 / ROOT/memory rw - cgroup cgroup rw,memory\n"
)

func (f *fake) path(elem string) string { return filepath.Join(f.root, elem) }
func (f *fake) proc() string            { return f.path("proc") }

// put writes a file, and the directories around it.
func (f *fake) put(file, text string) {
	f.t.Helper()
	path := f.path(file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatalf("make the folders: %v", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatalf("write a file of the fake kernel: %v", err)
	}
}

// get returns the content of a file, or "absent".
func (f *fake) get(file string) string {
	text, err := f.read(f.path(file))
	if err != nil {
		return "absent"
	}
	return text
}

// group makes a group with its files and processes.
func (f *fake) group(dir string, pids ...int) {
	f.t.Helper()
	if err := os.MkdirAll(f.path(dir), 0o755); err != nil {
		f.t.Fatalf("make the group: %v", err)
	}
	f.fill(f.path(dir))
	var lines []string
	for _, pid := range pids {
		lines = append(lines, strconv.Itoa(pid))
	}
	f.put(dir+"/cgroup.procs", strings.Join(lines, "\n"))
}

// fill makes the files of a group.
func (f *fake) fill(dir string) {
	rel, err := filepath.Rel(f.root, dir)
	if err != nil {
		f.t.Fatalf("a group outside of the fake: %v", err)
	}
	files := map[string]string{"cgroup.procs": ""}
	switch tree, _, _ := strings.Cut(rel, "/"); tree {
	case "unified":
		have, err := f.read(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"))
		if err != nil { // the root
			have = "cpu memory"
		}
		files["cgroup.controllers"], files["cgroup.subtree_control"] = have, ""
		if strings.Contains(have, "cpu") {
			files["cpu.max"], files["cpu.stat"] = "max 100000", "usage_usec 5\nnr_throttled 0\nthrottled_usec 0"
		}
		if strings.Contains(have, "memory") {
			files["memory.max"], files["memory.swap.max"] = "max", "max"
			files["memory.peak"], files["memory.events"] = "0", "low 0\noom_kill 0"
		}
	case "cpu":
		files["tasks"], files["cpu.cfs_quota_us"], files["cpu.cfs_period_us"] = "", "-1", "100000"
		files["cpu.stat"] = "nr_throttled 0\nthrottled_time 0"
	case "memory":
		files["tasks"], files["memory.limit_in_bytes"], files["memory.swappiness"] = "", "9223372036854771712", "60"
		files["memory.max_usage_in_bytes"], files["memory.oom_control"] = "0", "oom_kill_disable 0\nunder_oom 0\noom_kill 0"
	}
	for name, text := range files {
		f.put(filepath.Join(rel, name), text)
	}
}

func (f *fake) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	f.fill(dir)
	return nil
}

func (f *fake) rmdir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if pids, _ := pidsIn(f, dir); len(pids) > 0 || slices.ContainsFunc(entries, fs.DirEntry.IsDir) {
		return &fs.PathError{Op: "rmdir", Path: dir, Err: syscall.EBUSY}
	}
	return os.RemoveAll(dir)
}

func (f *fake) read(file string) (string, error) { return linux{}.read(file) }

// write behaves like a kernel: a group with processes passes no controllers on, and a process is
// in one group.
func (f *fake) write(file, text string) error {
	dir, name := filepath.Split(file)
	old, err := f.read(file)
	switch {
	case err != nil:
		return err
	case name == "cgroup.subtree_control":
		if pids, _ := pidsIn(f, dir); len(pids) > 0 && filepath.Clean(dir) != f.path("unified") {
			return &fs.PathError{Op: "write", Path: file, Err: syscall.EBUSY}
		}
		text = strings.TrimSpace(old + " " + strings.ReplaceAll(text, "+", ""))
	case name == "cgroup.procs":
		f.leave(text)
		if inside, unified := strings.CutPrefix(filepath.Clean(dir), f.path("unified")); unified && text == strconv.Itoa(os.Getpid()) {
			f.put("proc/cgroup", "0::"+inside+"\n")
		}
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// leave removes a process from the group it is in.
func (f *fake) leave(pid string) {
	err := filepath.WalkDir(f.root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "cgroup.procs" {
			return err
		}
		text, err := f.read(path)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(strings.Fields(text), func(field string) bool { return field == pid })
		return os.WriteFile(path, []byte(strings.Join(left, "\n")), 0o644)
	})
	if err != nil {
		f.t.Fatalf("move a process: %v", err)
	}
}

func (f *fake) writable(dir string) error {
	for _, sealed := range f.sealed {
		if f.path(sealed) == dir {
			return &fs.PathError{Op: "write to", Path: dir, Err: syscall.EACCES}
		}
	}
	_, err := os.Stat(dir)
	return err
}

func (f *fake) kill(pid int) {
	f.killed = append(f.killed, pid)
	f.leave(strconv.Itoa(pid))
}

// below lists dbtester's groups, relative to the root.
func (f *fake) below() (dirs []string) {
	err := filepath.WalkDir(f.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(path, "/"+top) && mounts.Within(path, f.root) {
			dirs = append(dirs, strings.TrimPrefix(path, f.root+"/"))
		}
		return err
	})
	if err != nil {
		f.t.Fatalf("list the groups: %v", err)
	}
	return dirs
}
