package logfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

const (
	// trimEvery is the interval between checks of logs that grow normally.
	trimEvery = time.Second
	// trimSoon is the interval for logs that grow fast.
	trimSoon = 50 * time.Millisecond
)

// Keeper keeps logs within a bound.
type Keeper struct {
	Bound Bound
	// Names are the logs. Open opens a log for reading and writing; its error is [fs.ErrNotExist]
	// if the log does not exist yet.
	Names []string
	Open  func(name string) (*os.File, error)
	// Report is called when a log is cut for the first time, and with each log's first error. It is
	// called in Run's goroutine.
	Report func(name string, cut Cut, err error)

	size    map[string]int64
	bytes   map[string]int64
	failed  map[string]bool
	growing bool
}

// Run trims the logs until ctx ends, and once more at the end. A log exceeds the bound by no more
// than the data written between two checks. These are at most a second apart, or 50 ms if the log
// grew by more than the bound's slack since the last check.
func (k *Keeper) Run(ctx context.Context) {
	k.size, k.bytes, k.failed = map[string]int64{}, map[string]int64{}, map[string]bool{}
	timer := time.NewTimer(trimEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			k.trimAll()
			return
		case <-timer.C:
		}
		k.trimAll()
		if k.growing {
			timer.Reset(trimSoon)
		} else {
			timer.Reset(trimEvery)
		}
	}
}

// trimAll checks every log once.
func (k *Keeper) trimAll() {
	k.growing = false
	for _, name := range k.Names {
		cut, err := k.trim(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil && !k.failed[name]:
			k.failed[name] = true
			k.Report(name, cut, fmt.Errorf("keep %s within %d bytes: %w", name, k.Bound.Most(), err))
		case cut.Bytes > 0 && k.bytes[name] == 0:
			k.Report(name, cut, nil)
		}
		k.bytes[name] = cut.Bytes
	}
}

func (k *Keeper) trim(name string) (Cut, error) {
	f, err := k.Open(name)
	if err != nil {
		return Cut{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Cut{}, err
	}
	k.growing = k.growing || info.Size()-k.size[name] > k.Bound.Slack
	k.size[name] = info.Size()
	return k.Bound.Trim(f)
}
