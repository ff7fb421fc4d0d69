package sysmetrics

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Interface returns the network interface to sample for a member address: the one that carries its
// traffic, or the default route's for "".
func Interface(addr string) (string, error) { return (&files{root: "/proc"}).findInterface(addr) }

// MemoryLimit returns the number of bytes that the control groups (of either version) of this
// process allow; 0 means no limit.
func MemoryLimit() (int64, error) { return (&files{root: "/proc"}).memoryLimit() }

func (f *files) memoryLimit() (int64, error) { return leastLimit(f, "memory", memoryLimitOf) }

// noMemoryLimit is below the value by which version 1 expresses no limit, and above the memory of
// any machine.
const noMemoryLimit = 1 << 60

// memoryLimitOf returns the limit for the group at dir; 0 if it has no limit.
func memoryLimitOf(dir string) (int64, error) {
	for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return parseMemoryLimit(strings.TrimSpace(string(text)))
	}
	return 0, nil
}

// parseMemoryLimit parses a number of bytes. "max", or a huge number, means no limit.
func parseMemoryLimit(text string) (int64, error) {
	if text == "max" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("memory limit %q: %w", text, err)
	}
	if n >= noMemoryLimit {
		return 0, nil
	}
	return n, nil
}
