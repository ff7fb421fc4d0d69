package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/fault/owndisk"
)

// power ends a member like a power failure: data its disk has not written is lost.
func power() Kind {
	return Kind{
		Name:     "power",
		Meaning:  "its disk loses unsynchronized writes at once, and its processes are killed; mounted and started again after `for`. Its agent needs `--disk loop:SIZE`",
		disk:     true,
		possible: owndisk.Check,
		apply:    powerOff,
		undo:     powerOn,
	}
}

// powerOff first stops the processes, so that they cannot answer meanwhile, then cuts their disk,
// and only then kills them: killing them first would give the kernel time to write.
func powerOff(ctx context.Context, v Victim, r Record) (string, error) {
	d, ok := v.Disk()
	if !ok {
		return "", errNoDisk
	}
	if len(r.Processes) == 0 {
		return "", errNotRunning
	}
	begin := time.Now()
	if t := v.Tap(); t != nil {
		t.Freeze() // otherwise the kernel would make the held call of a stopped process
		defer t.Thaw()
	}
	err := signalAll(r.Processes, unix.SIGSTOP)
	if err == nil {
		err = d.Cut()
	}
	if err != nil {
		_, rest := pausedByOthers(v, r)
		return "", errors.Join(err, signalAll(rest, unix.SIGCONT))
	}
	took := time.Since(begin)
	saw, err := end(ctx, v, r, false)
	if err == nil {
		err = d.Unmount(ctx)
	}
	return fmt.Sprintf("cut within %v, and refused a file; %s", took.Round(time.Millisecond/10), saw), err
}

// powerOn mounts the disk again and starts the commands. A disk that something had open when it was
// to be unmounted is still mounted, and refuses everything.
func powerOn(ctx context.Context, v Victim, r Record) (string, error) {
	d, ok := v.Disk()
	if !ok || !v.Ended(r.ID) {
		return "", nil // it was never applied
	}
	if err := d.Unmount(ctx); err != nil {
		return "", err
	}
	if err := d.Mount(); err != nil {
		return "", err
	}
	saw, err := again(ctx, v, r)
	return "the disk is mounted again; " + saw, err
}

// errNoDisk reports that a member has no disk of its own.
var errNoDisk = errors.New("the member has no disk of its own, which may be filled or cut: start its agent with --disk loop:SIZE, or with --disk DIR to fill it")
