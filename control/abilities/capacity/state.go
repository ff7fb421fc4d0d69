package capacity

import (
	"errors"
	"io/fs"
	"path/filepath"

	declared "github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// addState adds facts from member samples to the windows in dir: the largest store and heap on any
// member, and the least free disk space, at the end of each window. Unreadable samples add nothing.
func addState(dir string, record *results.DatabaseRun) error {
	path := filepath.Join(dir, declared.File)
	windows, err := declared.ReadWindows(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil && !errors.Is(err, results.ErrTruncated) {
		return err
	}
	tracks, _ := results.Tracks(dir, record)
	for i := range record.Members {
		own, _ := results.ReadDatabaseSamples(filepath.Join(dir, results.DatabaseFile(i+1)))
		at := 0
		for w := range windows {
			for at < len(own) && tracks[i].Client(own[at].UnixNano) <= windows[w].End.UnixNano() {
				at++
			}
			if at > 0 {
				larger(&windows[w].DBBytes, own[at-1].Values.Get(metric.DBBytes))
				larger(&windows[w].HeapBytes, own[at-1].Values.Get(metric.HeapBytes))
			}
		}
		host, _ := results.ReadSamples(filepath.Join(dir, results.ServerFile(i+1)))
		at = 0
		for w := range windows {
			for at < len(host) && tracks[i].Client(host[at].UnixNano) <= windows[w].End.UnixNano() {
				at++
			}
			if free := &windows[w].FreeBytes; at > 0 {
				if v := int64(host[at-1].Get(metric.DiskFree)); v >= 0 && (*free < 0 || v < *free) {
					*free = v
				}
			}
		}
	}
	return declared.WriteWindows(path, windows)
}

// larger keeps the largest known value.
func larger(is *int64, v float64) {
	if v >= 0 {
		*is = max(*is, int64(v))
	}
}
