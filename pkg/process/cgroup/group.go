package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/dbtester/pkg/process/resources"
)

// Group limits processes by control groups. It is safe for concurrent use.
type Group struct {
	kernel kernel
	limits resources.Limits
	parts  []part
}

// part is the directory of the group in one tree.
type part struct {
	tree
	dir string
}

// Make makes the group dbtester/RUN/NAME with its limits. The names are directory names. It fails
// if the group exists.
func (p *Parent) Make(run, name string, l resources.Limits) (*Group, error) {
	g := &Group{kernel: p.kernel, limits: l}
	for _, t := range p.trees {
		dir, err := p.descend(t, run, name)
		if err == nil {
			g.parts = append(g.parts, part{t, dir})
			err = g.limit(t, dir)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make control group: %w", err), g.Remove(context.Background()))
		}
	}
	return g, nil
}

// Check makes a group with these limits next to the named one, and removes it. Its name includes
// this process's id, so a group left by a killed check does no harm.
func (p *Parent) Check(run, name string, l resources.Limits) error {
	g, err := p.Make(run, fmt.Sprintf("check-%d-%s", os.Getpid(), name), l)
	if err != nil {
		return err
	}
	return g.Remove(context.Background())
}

// descend makes the directories. If another process removes an empty parent meanwhile, it starts
// again.
func (p *Parent) descend(t tree, run, name string) (dir string, err error) {
	for range 100 {
		dir, err = p.descendOnce(t, run, name)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENODEV) {
			break
		}
	}
	return dir, err
}

func (p *Parent) descendOnce(t tree, run, name string) (string, error) {
	dir := t.base
	for _, element := range []string{top, run} {
		dir = filepath.Join(dir, element)
		if err := p.kernel.mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if t.unified {
			if err := p.pass(dir, t.controllers); err != nil {
				return "", err
			}
		}
	}
	dir = filepath.Join(dir, name)
	return dir, p.kernel.mkdir(dir)
}

// limit writes the limits for the controllers of t. Swapped-out memory would not count fully, so
// swap is disabled where the kernel allows that.
func (g *Group) limit(t tree, dir string) error {
	micros := func(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
	type setting struct {
		controller string
		unified    bool
		file, text string
		optional   bool
	}
	memory := strconv.FormatInt(g.limits.MemoryBytes, 10)
	for _, s := range []setting{
		{"cpu", true, "cpu.max", micros(g.limits.Quota()) + " " + micros(g.limits.Period), false},
		{"cpu", false, "cpu.cfs_period_us", micros(g.limits.Period), false},
		{"cpu", false, "cpu.cfs_quota_us", micros(g.limits.Quota()), false},
		{"memory", true, "memory.max", memory, false},
		{"memory", true, "memory.swap.max", "0", true},
		{"memory", false, "memory.limit_in_bytes", memory, false},
		{"memory", false, "memory.memsw.limit_in_bytes", memory, true},
		{"memory", false, "memory.swappiness", "0", true},
	} {
		if s.unified != t.unified || !slices.Contains(t.controllers, s.controller) {
			continue
		}
		err := g.kernel.write(filepath.Join(dir, s.file), s.text)
		if errors.Is(err, syscall.EINVAL) && s.controller == "cpu" {
			err = fmt.Errorf("%w: the groups above may have less", err)
		}
		if err != nil && !s.optional {
			return fmt.Errorf("write %s: %w", s.text, err)
		}
	}
	return nil
}

// Place makes the child this thread starts next begin in the group. It changes the start attributes
// and, for version 1, moves the thread, because children begin in the group of their parent's
// thread. The caller must lock itself to the thread first, and call leave after the start. If leave
// fails, the thread must end. The main thread must not be used, because its groups count as those
// of the process.
func (g *Group) Place(attr *syscall.SysProcAttr) (leave func() error, err error) {
	var undo []func() error
	leave = func() error {
		var errs []error
		for _, f := range slices.Backward(undo) {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	for _, p := range g.parts {
		if p.unified {
			dir, err := os.Open(p.dir)
			if err != nil {
				return leave, fmt.Errorf("enter control group: %w", err)
			}
			startIn(attr, dir)
			undo = append(undo, dir.Close)
			continue
		}
		// 0 is the writing thread.
		if err := g.kernel.write(filepath.Join(p.dir, "tasks"), "0"); err != nil {
			return leave, fmt.Errorf("enter control group: %w", err)
		}
		undo = append(undo, func() error {
			if err := g.kernel.write(filepath.Join(p.home, "tasks"), "0"); err != nil {
				return fmt.Errorf("leave control group %s: %w", p.dir, err)
			}
			return nil
		})
	}
	return leave, nil
}

// Use reads the usage of the processes so far. A number is [resources.Unknown] if it cannot be read
// or the group lacks its controller.
func (g *Group) Use() resources.Use {
	u := resources.Use{
		Throttled: g.count("cpu", "cpu.stat", "cpu.stat", "nr_throttled"),
		PeakBytes: g.count("memory", "memory.peak", "memory.max_usage_in_bytes", ""),
		OOMKills:  g.count("memory", "memory.events", "memory.oom_control", "oom_kill"),
	}
	// Version 2 uses microseconds, version 1 nanoseconds.
	if n := g.count("cpu", "cpu.stat", "cpu.stat", "throttled_usec"); n >= 0 {
		u.ThrottledTime = time.Duration(n) * time.Microsecond
	} else {
		u.ThrottledTime = time.Duration(g.count("cpu", "cpu.stat", "cpu.stat", "throttled_time"))
	}
	return u
}

// count reads a number of the controller, given the file names in both versions: the number after
// key, or the only number.
func (g *Group) count(controller, unified, old, key string) int64 {
	for _, p := range g.parts {
		if !slices.Contains(p.controllers, controller) {
			continue
		}
		file := old
		if p.unified {
			file = unified
		}
		text, err := g.kernel.read(filepath.Join(p.dir, file))
		if err != nil {
			return resources.Unknown
		}
		return number(text, key)
	}
	return resources.Unknown
}

// number returns the number after key in lines "key number", or the number in a text without keys.
func number(text, key string) int64 {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if key != "" && (len(fields) != 2 || fields[0] != key) || len(fields) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(fields[len(fields)-1], 10, 64); err == nil {
			return n
		}
	}
	return resources.Unknown
}
