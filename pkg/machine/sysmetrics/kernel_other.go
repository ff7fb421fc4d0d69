//go:build !linux

package sysmetrics

import (
	"errors"
	"os"

	"github.com/prometheus/procfs"

	"github.com/coreos/dbtester/pkg/results"
)

// Systems other than Linux lack adjtimex(2), fdatasync(2) and /proc/cpuinfo.

func timeService(*results.Host)          {}
func datasync(f *os.File) error          { return f.Sync() }
func models(procfs.FS) ([]string, error) { return nil, errors.ErrUnsupported }
