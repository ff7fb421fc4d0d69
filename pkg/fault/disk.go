package fault

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/coreos/dbtester/pkg/process/tap"
)

// The values of [Parameters.Fsync], apart from a time.
const (
	fsyncStall   = "stall"
	fsyncFails   = "EIO"
	fsyncNoSpace = "ENOSPC"
)

// disk makes the calls by which a member puts its writes on disk take longer, wait or fail.
func disk() Kind {
	return Kind{
		Name:     "disk",
		Meaning:  "each fsync, fdatasync, msync and sync_file_range call by the member takes longer, waits or fails, as `fsync` says; io_uring calls and files opened with O_DSYNC are not affected. Or its own disk has no space left (`full`), for which its agent needs `--disk`",
		taps:     func(p Parameters) bool { return !p.Full },
		keys:     []string{"fsync", "full"},
		mayEnd:   func(p Parameters) bool { return p.Full || p.Fsync == fsyncFails || p.Fsync == fsyncNoSpace },
		possible: tap.Check,
		check: func(p Parameters) error {
			if p.Full && p.Fsync == "" {
				return nil
			}
			if p.Full {
				return wrong("full", "a disk has fsync or full, not both")
			}
			_, err := effectOf(p.Fsync)
			return err
		},
		apply: func(ctx context.Context, v Victim, r Record) (string, error) {
			p, err := r.decoded()
			if err != nil {
				return "", err
			}
			if p.Full {
				return fill(ctx, v, r)
			}
			e, err := effectOf(p.Fsync)
			if err != nil {
				return "", err
			}
			return intercept(v, r, e)
		},
		undo: func(ctx context.Context, v Victim, r Record) (string, error) {
			switch held := v.Held(r.ID).(type) {
			case intercepted:
				return letPass(ctx, v, r, held.tap)
			case filled:
				return drain(ctx, v, r, held.disk)
			}
			return "", nil // it was never applied
		},
	}
}

// intercepted are the calls of a member that a fault changes.
type intercepted struct{ tap *tap.Tap }

// Close lets the calls pass again.
func (i intercepted) Close() error {
	i.tap.Set(tap.Effect{})
	return nil
}

// intercept sets the effect on calls of the member.
func intercept(v Victim, r Record, e tap.Effect) (string, error) {
	switch t := v.Tap(); {
	case len(r.Processes) == 0:
		return "", errNotRunning
	case t == nil:
		return "", errors.New("the member was started without a tap: its start did not announce the fault")
	case t.Now() != tap.Effect{}:
		return "", errors.New("another fault has the disk of the member")
	default:
		t.Set(e)
		v.Hold(r.ID, intercepted{t})
		return "each call " + e.String(), nil
	}
}

// letPass lets the calls pass again. A member that has ended itself is started again.
func letPass(ctx context.Context, v Victim, r Record, t *tap.Tap) (string, error) {
	e, n := t.Now(), t.Affected()
	if err := errors.Join(v.LetGo(r.ID), v.Start(ctx, r.ID)); err != nil {
		return "", err
	}
	if n == 0 {
		return "", errors.New("the member made no call that puts writes on disk")
	}
	return fmt.Sprintf("%d calls of which each %s", n, e), nil
}

// effectOf parses the parameter of a disk fault.
func effectOf(fsync string) (e tap.Effect, err error) {
	switch fsync {
	case fsyncStall:
		return tap.Effect{Stall: true}, nil
	case fsyncFails:
		return tap.Effect{Errno: syscall.EIO}, nil
	case fsyncNoSpace:
		return tap.Effect{Errno: syscall.ENOSPC}, nil
	}
	if e.Delay, err = time.ParseDuration(fsync); err != nil || e.Delay <= 0 || e.Delay > longestDelay {
		return e, wrong("fsync", "fsync must be %s, %s, %s or a time up to %v, got %q", fsyncStall, fsyncFails, fsyncNoSpace, longestDelay, fsync)
	}
	return e, nil
}

// longestDelay bounds the delay of one call.
const longestDelay = time.Hour
