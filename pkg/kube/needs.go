package kube

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/config"
)

// needs are what an experiment names besides itself.
type needs struct {
	files     []needed // in the order of their paths
	variables []string // of control's environment, sorted
	limited   bool     // members have limits
}

// needed is a file that control, and perhaps members, read.
type needed struct {
	path string // as the experiment has it
	key  string // in the Secret
	// members is whether agents need it too.
	members bool
}

// wrongKey matches what a key of a Secret cannot have.
var wrongKey = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// needsOf returns what an experiment needs. Relative paths must lie below the working
// directory.
func needsOf(e *config.Experiment) (needs, error) {
	n := needs{limited: len(limits(e)) > 0}
	members := map[string]bool{} // by path
	add := func(file string, ofMembers bool) {
		if file != "" {
			members[file] = members[file] || ofMembers
		}
	}
	for _, db := range e.Databases {
		if db.TLS != nil {
			for _, file := range []string{db.TLS.CA, db.TLS.Cert, db.TLS.Key} {
				add(file, len(db.Hosts) > 0)
			}
		}
		if db.Auth != nil {
			add(db.Auth.PasswordFile, false)
			if v := db.Auth.PasswordEnv; v != "" && !slices.Contains(n.variables, v) {
				n.variables = append(n.variables, v)
			}
		}
	}
	if e.Upload != nil {
		add(e.Upload.KeyFile, false)
	}
	keys := map[string]string{} // paths by key
	for file, ofMembers := range members {
		key := strings.Trim(wrongKey.ReplaceAllString(path.Clean(file), "-"), "-")
		switch other, taken := keys[key]; {
		case !path.IsAbs(file) && (path.Clean(file) == fileName || strings.HasPrefix(path.Clean(file), "..")):
			return needs{}, fmt.Errorf("%q must be a file below the working directory and not %s, or an absolute path", file, fileName)
		case taken:
			return needs{}, fmt.Errorf("%q and %q are one key of a Secret, %s: rename one of them", min(file, other), max(file, other), key)
		}
		keys[key] = file
		n.files = append(n.files, needed{path: file, key: key, members: ofMembers})
	}
	slices.SortFunc(n.files, func(a, b needed) int { return strings.Compare(a.path, b.path) })
	slices.Sort(n.variables)
	return n, nil
}

// relative are the files whose paths begin at the working directory of control.
func (n needs) relative() (items []keyPath) {
	for _, f := range n.files {
		if !path.IsAbs(f.path) {
			items = append(items, keyPath{Key: f.key, Path: path.Clean(f.path)})
		}
	}
	return items
}

// mounts are those of the files with absolute paths, of all or only of those that agents
// need too.
func (n needs) mounts(ofMembers bool) (mounts []volumeMount) {
	for _, f := range n.files {
		if path.IsAbs(f.path) && (f.members || !ofMembers) {
			mounts = append(mounts, volumeMount{Name: nameFiles, MountPath: path.Clean(f.path), SubPath: f.key, ReadOnly: true})
		}
	}
	return mounts
}
