package kube

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/pattern"
)

// needs holds the files, variables and permissions an experiment needs.
type needs struct {
	files     []needed // ordered by path
	variables []string // in the control environment, sorted
	optional  []string // the same, where the Secret has them
	limited   bool     // members have limits
	faults    []string // the kinds that agents must allow, sorted
	// targets are the addresses that generators connect to, and passwords the variables with
	// their passwords, both as their agents' flags take them.
	targets, passwords []string
}

// needed is a file that control and generators read.
type needed struct {
	path string // as the experiment has it
	key  string // in the Secret
}

// wrongKey matches characters that keys in a Secret cannot have.
var wrongKey = pattern.New(`[^A-Za-z0-9._-]+`)

// needsOf returns the needs of an experiment. Relative paths must lie below the working directory.
func needsOf(e *config.Experiment) (needs, error) {
	n := needs{limited: len(limits(e)) > 0, faults: faultsOf(e)}
	files := map[string]bool{} // by path
	add := func(file string) {
		if file != "" {
			files[file] = true
		}
	}
	variable := func(name string) {
		if !slices.Contains(n.variables, name) {
			n.variables = append(n.variables, name)
		}
	}
	for i := range e.Databases {
		n.addTargets(&e.Databases[i])
	}
	for _, db := range e.Databases {
		if db.TLS != nil {
			for _, file := range []string{db.TLS.CA, db.TLS.Cert, db.TLS.Key} {
				add(file)
			}
		}
		if db.Auth != nil {
			add(db.Auth.PasswordFile)
			if v := db.Auth.PasswordEnv; v != "" {
				variable(v)
			}
		}
		add(db.Load.Sizes.File)
	}
	if e.Upload != nil {
		add(e.Upload.KeyFile)
		if strings.HasPrefix(e.Upload.URL, "s3://") {
			variable("AWS_REGION")
			n.optional = append(n.optional, "AWS_ENDPOINT_URL")
			if e.Upload.KeyFile == "" {
				variable("AWS_ACCESS_KEY_ID")
				variable("AWS_SECRET_ACCESS_KEY")
				n.optional = append(n.optional, "AWS_SESSION_TOKEN")
			}
		}
	}
	keys := map[string]string{} // paths by key
	for file := range files {
		key := strings.Trim(wrongKey().ReplaceAllString(path.Clean(file), "-"), "-")
		switch other, taken := keys[key]; {
		case !path.IsAbs(file) && (path.Clean(file) == fileName || strings.HasPrefix(path.Clean(file), "..")):
			return needs{}, fmt.Errorf("%q must be a file below the working directory and not %s, or an absolute path", file, fileName)
		case taken:
			return needs{}, fmt.Errorf("%q and %q are one key of a Secret, %s: rename one of them", min(file, other), max(file, other), key)
		}
		keys[key] = file
		n.files = append(n.files, needed{path: file, key: key})
	}
	slices.SortFunc(n.files, func(a, b needed) int { return strings.Compare(a.path, b.path) })
	slices.Sort(n.variables)
	n.optional = slices.DeleteFunc(n.optional, func(name string) bool { return slices.Contains(n.variables, name) })
	return n, nil
}

// addTargets adds the needs of generators for a database.
func (n *needs) addTargets(db *config.Database) {
	targets := db.EndpointHosts()
	if len(targets) == 0 {
		targets = []string{"reserved"}
	}
	for _, target := range targets {
		if !slices.Contains(n.targets, target) {
			n.targets = append(n.targets, target)
		}
	}
	if db.Auth != nil && db.Auth.PasswordEnv != "" && !slices.Contains(n.passwords, db.Auth.PasswordEnv) {
		n.passwords = append(n.passwords, db.Auth.PasswordEnv)
	}
}

// allowed returns the flags for agents with generators that permit the experiment.
func (n needs) allowed() []string {
	flags := []string{"--allow-targets", strings.Join(n.targets, ",")}
	var dirs []string
	add := func(dir string) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(n.relative()) > 0 {
		add(dirExperiment)
	}
	for _, m := range n.mounts() {
		add(path.Dir(m.MountPath))
	}
	if len(dirs) > 0 {
		flags = append(flags, "--secrets-dir", strings.Join(dirs, ","))
	}
	if len(n.passwords) > 0 {
		flags = append(flags, "--secrets-env", strings.Join(n.passwords, ","))
	}
	return flags
}

// relative returns the files whose paths begin at the working directory of control.
func (n needs) relative() (items []keyPath) {
	for _, f := range n.files {
		if !path.IsAbs(f.path) {
			items = append(items, keyPath{Key: f.key, Path: path.Clean(f.path)})
		}
	}
	return items
}

// mounts returns the mounts for files with absolute paths.
func (n needs) mounts() (mounts []volumeMount) {
	for _, f := range n.files {
		if path.IsAbs(f.path) {
			mounts = append(mounts, volumeMount{Name: nameFiles, MountPath: path.Clean(f.path), SubPath: f.key, ReadOnly: true})
		}
	}
	return mounts
}
