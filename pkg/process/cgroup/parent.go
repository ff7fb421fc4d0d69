// Package cgroup limits the combined resources of processes with Linux control groups, in either
// version. A group is made below a group this process may write to, gets its limits, receives
// children before their first instruction, counts their usage, and is removed with everything that
// runs in it.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coreos/dbtester/pkg/process/mounts"
	"github.com/coreos/dbtester/pkg/process/resources"
)

const (
	// top is the directory above all groups of this program.
	top = "dbtester"
	// leaf is the group to which this process moves if it is alone in its own group: a version 2
	// group with limited groups below it must not contain processes.
	leaf = "dbtester-agent"
)

// Parent is the place where groups can be made. It is immutable and safe for concurrent use.
type Parent struct {
	kernel kernel
	trees  []tree
}

// tree is a hierarchy of groups: the version 2 hierarchy, or a version 1 hierarchy.
type tree struct {
	unified     bool
	controllers []string
	// home is the directory of this process's own group.
	home string
	// base is the directory below which groups are made.
	base string
}

// Find returns where groups with such limits can be made, or why this process cannot make any. In
// version 1 the place is the process's own group in each hierarchy. In version 2 it is the
// innermost enclosing group that may have limited groups below it. If there is no such group and
// the process is alone in its own, Find moves the process one level down. It is safe for concurrent
// use.
func Find(l resources.Limits) (*Parent, error) { return find(linux{}, "/proc/self", l) }

// FindUnified finds like [Find], for groups that are in the version 2 hierarchy as well, where the
// kernel knows which group a socket belongs to. The limits may be zero.
func FindUnified(l resources.Limits) (*Parent, error) {
	return find(linux{}, "/proc/self", l, "")
}

// finding is held while this process looks for its groups and may move, because several agents in
// one process may do so at the same time.
var finding sync.Mutex

func find(k kernel, proc string, l resources.Limits, more ...string) (*Parent, error) {
	finding.Lock()
	defer finding.Unlock()
	groups, err := k.read(filepath.Join(proc, "cgroup"))
	if err != nil {
		return nil, fmt.Errorf("find the control groups of this process: %w", err)
	}
	mountinfo, err := k.read(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("find the control groups of this process: %w", err)
	}
	all, err := mounts.Parse([]byte(mountinfo))
	if err != nil {
		return nil, fmt.Errorf("find the control groups of this process: %w", err)
	}
	p := &Parent{kernel: k}
	for _, controller := range append(controllersOf(l), more...) {
		memberships, err := Parse([]byte(groups), controller)
		if err != nil {
			return nil, fmt.Errorf("find the control groups of this process: %w", err)
		}
		if err := p.add(controller, memberships, all); err != nil {
			return nil, err
		}
	}
	for i := range p.trees {
		if err := p.settle(&p.trees[i]); err != nil {
			return nil, fmt.Errorf("%w; %s", err, advice)
		}
	}
	return p, nil
}

const advice = "run the agent as root, or by systemd in a group of its own (Delegate=yes)"

// controllersOf returns the controllers needed for the limits.
func controllersOf(l resources.Limits) (list []string) {
	if l.CPUs > 0 {
		list = append(list, "cpu")
	}
	if l.MemoryBytes > 0 {
		list = append(list, "memory")
	}
	return list
}

// add adds a controller to the tree that has it; "" is the unified tree by itself. A version 1 hierarchy takes precedence: version 2
// then lacks the controller.
func (p *Parent) add(controller string, groups []Membership, all []mounts.Mount) error {
	slices.SortStableFunc(groups, func(a, b Membership) int { return -strings.Compare(a.Controller, b.Controller) })
	for _, g := range groups {
		dirs := g.Dirs(all)
		if len(dirs) == 0 {
			continue
		}
		t := tree{unified: g.Controller == "", home: dirs[0]}
		at := slices.IndexFunc(p.trees, func(other tree) bool { return other.home == t.home })
		if at < 0 {
			at, p.trees = len(p.trees), append(p.trees, t)
		}
		if controller != "" {
			p.trees[at].controllers = append(p.trees[at].controllers, controller)
		}
		return nil
	}
	if controller == "" {
		return errors.New("this machine shows no control groups of version 2")
	}
	return fmt.Errorf("this machine shows no control groups with the controller %q", controller)
}

// settle chooses where groups of the tree are made.
func (p *Parent) settle(t *tree) error {
	if !t.unified {
		t.base = t.home
		return p.kernel.writable(t.home)
	}
	var reasons []string
	for dir := t.home; ; dir = filepath.Dir(dir) {
		have, err := p.kernel.read(filepath.Join(dir, "cgroup.controllers"))
		if errors.Is(err, fs.ErrNotExist) { // above the root
			break
		}
		if err == nil {
			err = p.serves(dir, have, t.controllers)
		}
		if err == nil {
			t.base = dir
			return nil
		}
		reasons = append(reasons, err.Error())
	}
	if err := p.stepDown(t); err != nil {
		return errors.New(strings.Join(append(reasons, err.Error()), "; "))
	}
	t.base = t.home
	return nil
}

// serves returns an error if the version 2 group at dir cannot have groups with the controllers
// below it; have lists its own controllers.
func (p *Parent) serves(dir, have string, controllers []string) error {
	for _, c := range controllers {
		if !slices.Contains(strings.Fields(have), c) {
			return fmt.Errorf("control group %s does not have the controller %q", dir, c)
		}
	}
	if err := p.kernel.writable(dir); err != nil {
		return err
	}
	return p.pass(dir, controllers)
}

// pass enables controllers in the groups below a version 2 group.
func (p *Parent) pass(dir string, controllers []string) error {
	file := filepath.Join(dir, "cgroup.subtree_control")
	passed, err := p.kernel.read(file)
	if err != nil {
		return err
	}
	var missing []string
	for _, c := range controllers {
		if !slices.Contains(strings.Fields(passed), c) {
			missing = append(missing, "+"+c)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return p.kernel.write(file, strings.Join(missing, " "))
}

// stepDown moves this process one group down if it is alone in its own.
func (p *Parent) stepDown(t *tree) error {
	pids, err := p.pids(t.home)
	if err != nil {
		return err
	}
	if len(pids) != 1 || pids[0] != os.Getpid() {
		return fmt.Errorf("control group %s has other processes than this one", t.home)
	}
	dir := filepath.Join(t.home, leaf)
	if err := p.kernel.mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := p.kernel.write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(os.Getpid())); err != nil {
		return err
	}
	return p.pass(t.home, t.controllers)
}

// pids returns the processes in a group.
func (p *Parent) pids(dir string) ([]int, error) { return pidsIn(p.kernel, dir) }

// Unified returns the directory of the group in the version 2 hierarchy, or "".
func (p *Parent) Unified(run, name string) string {
	for _, t := range p.trees {
		if t.unified {
			return filepath.Join(t.base, top, run, name)
		}
	}
	return ""
}

// Dirs returns the directories of the group before it is made, for [Remove].
func (p *Parent) Dirs(run, name string) []string {
	var dirs []string
	for _, t := range p.trees {
		dirs = append(dirs, filepath.Join(t.base, top, run, name))
	}
	return dirs
}
