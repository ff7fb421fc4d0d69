package sysmetrics

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/process/mounts"
)

// cpuQuota returns the number of processors that the control groups (of either version) of this
// process allow; 0 means no limit.
func (f *files) cpuQuota() (float64, error) { return leastLimit(f, "cpu", quotaOf) }

// leastLimit returns the lowest limit in the control groups (of either version) of this process and
// their ancestors, for one controller; 0 means no limit. limitOf returns the limit in a group
// directory, or 0.
func leastLimit[T int64 | float64](f *files, controller string, limitOf func(dir string) (T, error)) (least T, err error) {
	data, err := f.read("self", "cgroup")
	if errors.Is(err, fs.ErrNotExist) { // the kernel has no control groups
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	groups, err := cgroup.Parse(data, controller)
	if err != nil {
		return 0, err
	}
	if data, err = f.read("self", "mountinfo"); err != nil {
		return 0, err
	}
	all, err := mounts.Parse(data)
	if err != nil {
		return 0, err
	}
	for _, g := range groups {
		for _, dir := range g.Dirs(all) {
			limit, err := limitOf(dir)
			if err != nil {
				return 0, err
			}
			if limit > 0 && (least == 0 || limit < least) {
				least = limit
			}
		}
	}
	return least, nil
}

// quotaOf returns the quota for the group at dir; 0 if it has no quota.
func quotaOf(dir string) (float64, error) {
	text, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
	if err == nil {
		return parseQuota(string(text))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var both []string // as in cpu.max
	for _, name := range []string{"cpu.cfs_quota_us", "cpu.cfs_period_us"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return 0, nil
		case err != nil:
			return 0, err
		}
		both = append(both, string(text))
	}
	return parseQuota(strings.Join(both, " "))
}

// parseQuota parses a time and the period in which it may be used. "max", or -1 in version 1, means
// no limit.
func parseQuota(text string) (float64, error) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return 0, fmt.Errorf("quota %q is not a time and a period", text)
	}
	if fields[0] == "max" || fields[0] == "-1" {
		return 0, nil
	}
	quota, err := strconv.ParseUint(fields[0], 10, 63)
	if err != nil {
		return 0, fmt.Errorf("quota %q: %w", text, err)
	}
	period, err := strconv.ParseUint(fields[1], 10, 63)
	if err != nil || period == 0 {
		return 0, fmt.Errorf("quota %q: its period must be a positive number of microseconds", text)
	}
	return float64(quota) / float64(period), nil
}
