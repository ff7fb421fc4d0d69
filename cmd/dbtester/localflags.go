package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/control/before/forecast"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
)

// localFlags are the flags for agents inside this process.
type localFlags struct {
	local   bool
	workDir string
	cache   string // for releases
	disk    string // own disk for each member; "" means no own disk
	tools   toolFlags
}

// register declares the flags for all commands that make runs. cache is the help for --cache.
func (f *localFlags) register(flags *pflag.FlagSet, r *database.Registry, cache string) {
	flags.BoolVar(&f.local, "local", false, "run the agents of loopback hosts inside this process")
	flags.StringVar(&f.workDir, "work-dir", "", "directory for the databases of --local (default: below the results folder)")
	registerCache(flags, &f.cache, cache)
	f.tools.register(flags, r)
}

// registerDisk declares the flag for own disks.
func (f *localFlags) registerDisk(flags *pflag.FlagSet) {
	flags.StringVar(&f.disk, "disk", "", "with --local: "+diskUsage+"; with --local it has one for each host, by its address: DIR/127.0.0.1")
}

// checkDisk returns why members cannot have such disks.
func (f localFlags) checkDisk() error {
	if _, err := owndisk.Asked(f.disk); err != nil {
		return usageError{fmt.Errorf("--disk: %w", err)} // agents check the host directories
	}
	if f.disk != "" && !f.local {
		return usageError{errors.New("--disk needs --local; agents on other machines have a flag of their own")}
	}
	return nil
}

// localDir returns the parent of the work directory for local agents.
func (f localFlags) localDir(e *config.Experiment) string { return cmp.Or(f.workDir, e.Results) }

// machine returns the facts about this machine. Only with --local do they include the location of
// member directories.
func (f localFlags) machine(e *config.Experiment) *forecast.Machine {
	if !f.local {
		return forecast.Here("")
	}
	return forecast.Here(f.localDir(e))
}

// localCache is the release cache for local agents. It is "" without a home directory; only files
// that name versions need a cache.
func (f localFlags) localCache() string {
	dir, err := cacheDir(f.cache)
	if err != nil {
		return ""
	}
	return dir
}
