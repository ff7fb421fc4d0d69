package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// agentFlags are the agent's flags. Those from the classic agent keep their names.
type agentFlags struct {
	listen      string
	workDir     string
	cache       string
	logPath     string
	device      string
	disk        string
	iface       string
	clientNum   string
	lease       time.Duration
	link        linkFlags
	allowBinary bool
	allowFlags  bool
	loads       issueFlags
	allowFaults []string
	dryCheck    bool
	peers       []string // for the check
	tools       toolFlags
	metrics     lookers
}

// issueFlags decide whether an agent issues parts of loads, to which targets, and which files it
// may read for them.
type issueFlags struct {
	allow      bool
	targets    []string
	secretDirs []string
	secretEnv  []string
}

// workDirectory returns the given directory, or the default.
func (f agentFlags) workDirectory() (string, error) {
	if f.workDir != "" {
		return f.workDir, nil
	}
	return defaultWorkDir(f.listen)
}

// defaultWorkDir is below the user's cache directory and differs by listen address, because one
// machine may run several agents.
func defaultWorkDir(listen string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a work directory (name one with --work-dir): %w", err)
	}
	name := strings.NewReplacer(":", "-", "[", "", "]", "").Replace(listen)
	return filepath.Join(cache, "dbtester-agent", name), nil
}
