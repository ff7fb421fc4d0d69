package cgroup

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/process/mounts"
)

// Membership is the group of a process in one hierarchy: the unified hierarchy of version 2, or the
// version 1 hierarchy with a controller.
type Membership struct {
	// Controller is "" for the unified hierarchy.
	Controller string
	// Path is the path of the group from the root of its hierarchy.
	Path string
}

// Parse parses lines hierarchy:controllers:path, see cgroups(7), and returns the groups on which
// the controller may act.
func Parse(data []byte, controller string) ([]Membership, error) {
	var groups []Membership
	for line := range bytes.Lines(data) {
		fields := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
		if len(fields) < 3 {
			return nil, fmt.Errorf("cgroup line %q", line)
		}
		switch controllers := strings.Split(fields[1], ","); {
		case fields[0] == "0" && fields[1] == "":
			groups = append(groups, Membership{Path: fields[2]})
		case slices.Contains(controllers, controller):
			groups = append(groups, Membership{controller, fields[2]})
		}
	}
	return groups, nil
}

// Dirs returns the directories of the group and its ancestors, innermost first, because each limits
// the processes. For a group outside the mount, as seen in a container, it returns only the
// outermost directory.
func (g Membership) Dirs(all []mounts.Mount) (dirs []string) {
	for _, m := range all {
		if !g.on(m) {
			continue
		}
		inner := "."
		if g.inside(m) {
			inner = strings.TrimPrefix(g.Path, m.Root)
		}
		dir := filepath.Join(m.Point, inner)
		for ; mounts.Within(dir, m.Point) && dir != m.Point; dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
		}
		dirs = append(dirs, m.Point)
	}
	return dirs
}

// inside reports whether the group lies below the mounted root.
func (g Membership) inside(m mounts.Mount) bool {
	return mounts.Within(g.Path, m.Root) && !strings.HasPrefix(g.Path, "/..")
}

// on reports whether the mount shows the hierarchy of the group.
func (g Membership) on(m mounts.Mount) bool {
	if g.Controller == "" {
		return m.Type == "cgroup2"
	}
	return m.Type == "cgroup" && slices.Contains(strings.Split(m.Options, ","), g.Controller)
}
