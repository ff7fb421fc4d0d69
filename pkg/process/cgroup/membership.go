package cgroup

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/process/mounts"
)

// Membership is a group that a process is in: one of the unified hierarchy, which is
// version 2, or of that of version 1 that has a controller.
type Membership struct {
	// Controller is "" for the unified hierarchy.
	Controller string
	// Path is the group's, from the root of its hierarchy.
	Path string
}

// Parse reads the groups that the controller may act on from a file of
// cgroups(7): hierarchy:controllers:path.
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

// Dirs returns the directories of the group and of those above it, innermost first,
// because each of them limits the processes in it. Of a group outside the mount, as
// a container may see it, only the outermost directory is left.
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

// inside reports whether the group lies in what is mounted.
func (g Membership) inside(m mounts.Mount) bool {
	return mounts.Within(g.Path, m.Root) && !strings.HasPrefix(g.Path, "/..")
}

// on reports whether the mount is of the group's hierarchy.
func (g Membership) on(m mounts.Mount) bool {
	if g.Controller == "" {
		return m.Type == "cgroup2"
	}
	return m.Type == "cgroup" && slices.Contains(strings.Split(m.Options, ","), g.Controller)
}
