package sysmetrics

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/process/mounts"
)

// groupOf names the control group of a sampled process.
type groupOf struct {
	pid  int
	name string
}

// groupSource is a source with the scope Group, and the files from which it is read.
type groupSource struct {
	machineSource
	paths []string
	sum   []metric.Reading
}

// sampleGroup sets metrics for the named group, or else for the group that the process is in.
// Metrics that the named group lacks are unknown, because its ancestors and the groups in other
// hierarchies are shared with other processes. A process that later moves to another group is not
// followed; a restarted process is.
func (m *machine) sampleGroup(pid int, values metric.Values) error {
	if len(m.named) > 0 {
		m.findNamed()
	} else if pid != 0 && pid != m.group.pid {
		if err := m.findGroup(pid); err != nil {
			if gone(err) {
				return nil // no control groups, or the process has just ended
			}
			return fmt.Errorf("find the control group of pid %d: %w", pid, err)
		}
	}
	for i := range m.groups {
		g := &m.groups[i]
		if g.read(m.files) {
			g.store(values)
		}
	}
	return nil
}

// findNamed finds the files of the named group as soon as they exist, so that its first values are
// known before a process runs in it.
func (m *machine) findNamed() {
	for i := range m.groups {
		if g := &m.groups[i]; len(g.paths) == 0 {
			g.findIn(m.files, m.named)
		}
	}
	m.nameGroup()
}

// nameGroup names the group after the directory of its first file.
func (m *machine) nameGroup() {
	for i := range m.groups {
		if g := &m.groups[i]; m.group.name == "" && len(g.paths) > 0 {
			m.group.name = filepath.Dir(g.paths[0])
		}
	}
}

// findGroup finds the files for the group of a process.
func (m *machine) findGroup(pid int) error {
	data, err := m.files.read(strconv.Itoa(pid), "cgroup")
	if err != nil {
		return err
	}
	var groups []cgroup.Membership
	for i := range m.groups {
		found, err := cgroup.Parse(data, m.groups[i].Controller)
		if err != nil {
			return err
		}
		groups = slices.Concat(groups, found)
	}
	if data, err = m.files.read("self", "mountinfo"); err != nil {
		return err
	}
	all, err := mounts.Parse(data)
	if err != nil {
		return err
	}
	m.group = groupOf{pid: pid}
	for i := range m.groups {
		m.groups[i].find(m.files, groups, all)
	}
	m.nameGroup()
	return nil
}

// find selects the files from the first hierarchy in which the group or an ancestor has the
// controller.
func (g *groupSource) find(f *files, groups []cgroup.Membership, all []mounts.Mount) {
	g.paths = nil
	for _, group := range groups {
		name := g.File
		if group.Controller != "" {
			if name = g.OldFile; group.Controller != g.Controller {
				continue
			}
		}
		for _, dir := range group.Dirs(all) {
			path := filepath.Join(dir, name)
			if !g.readPath(f, path) || g.readings[0].Value < 0 {
				continue
			}
			if g.paths = append(g.paths, path); !g.Above {
				return
			}
		}
		if len(g.paths) > 0 {
			return
		}
	}
}

// findIn selects the file in the group directories, one of which may have the source's controller.
// Ancestor groups also throttle other processes, so their counts are not added.
func (g *groupSource) findIn(f *files, dirs []string) {
	for _, dir := range dirs {
		for _, name := range []string{g.File, g.OldFile} {
			if path := filepath.Join(dir, name); g.readPath(f, path) && g.readings[0].Value >= 0 {
				g.paths = []string{path}
				return
			}
		}
	}
}

// read sets the readings to the sum over the files, which is unknown if any reading is. It returns
// false if a file cannot be read, for example after the group is removed.
func (g *groupSource) read(f *files) bool {
	if len(g.paths) == 0 {
		return false
	}
	g.sum = append(g.sum[:0], g.readings...)
	clear(g.sum)
	for _, path := range g.paths {
		if !g.readPath(f, path) {
			return false
		}
		for i, r := range g.readings {
			g.sum[i].Value = plus(g.sum[i].Value, r.Value, r.Value < 0)
		}
	}
	copy(g.readings, g.sum)
	return true
}

// readPath sets the readings from one file.
func (g *groupSource) readPath(f *files, path string) bool {
	data, err := f.readPath(path)
	return err == nil && parse(&g.Source, data, "", g.readings) == nil
}
