package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/process"
)

// pauses is the name of the fault kind that pauses a member.
const pauses = "pause"

// pause stops the member's processes with SIGSTOP. The control group freezer is no alternative: in
// version 1 groups a frozen process ignores SIGKILL.
func pause() Kind {
	return Kind{
		Name:    pauses,
		Meaning: "SIGSTOP, and SIGCONT after `for`: connections stay open and nobody answers",
		apply: func(ctx context.Context, _ Victim, r Record) (string, error) {
			if len(r.Processes) == 0 {
				return "", errNotRunning
			}
			if err := signalAll(r.Processes, unix.SIGSTOP); err != nil {
				return "", err
			}
			return states(ctx, r.Processes, true)
		},
		undo: func(ctx context.Context, v Victim, r Record) (string, error) {
			if len(r.Processes) == 0 {
				return "", nil // it was never applied
			}
			paused, rest := pausedByOthers(v, r)
			if err := signalAll(rest, unix.SIGCONT); err != nil {
				return "", err
			}
			saw, err := states(ctx, rest, false)
			if err == nil && len(paused) > 0 {
				saw = fmt.Sprintf("%d of %d processes are stopped: another pause lasts", stopped(paused), len(r.Processes))
			}
			return saw, err
		},
		release: func(r Record) error { return signalAll(r.Processes, unix.SIGCONT) },
	}
}

// pausedByOthers splits the processes of r into those that other pauses of the victim keep stopped,
// and the rest.
func pausedByOthers(v Victim, r Record) (paused, rest []Process) {
	kept := map[Process]bool{}
	for _, o := range v.Lasting() {
		if o.Kind == pauses && o.ID != r.ID {
			for _, p := range o.Processes {
				kept[p] = true
			}
		}
	}
	for _, p := range r.Processes {
		if kept[p] {
			paused = append(paused, p)
		} else {
			rest = append(rest, p)
		}
	}
	return paused, rest
}

// signalAll signals the groups of the processes that still run.
func signalAll(processes []Process, sig unix.Signal) error {
	var errs []error
	for _, p := range processes {
		if !process.Alive(p.Pid, p.StartTicks) {
			continue
		}
		if err := unix.Kill(-p.Pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("signal the group of pid %d: %w", p.Pid, err))
		}
	}
	return errors.Join(errs...)
}

const (
	// stateEvery is the interval between reads of process states until a signal has taken effect.
	// stateTimeout bounds that time: threads inside the kernel stop late.
	stateEvery   = 5 * time.Millisecond
	stateTimeout = 10 * time.Second
)

// states waits until all processes are stopped, or no process is, and describes them. Processes
// that have ended are not stopped.
func states(ctx context.Context, processes []Process, want bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	ticker := time.NewTicker(stateEvery)
	defer ticker.Stop()
	for {
		n := stopped(processes)
		if want && n == len(processes) || !want && n == 0 {
			return fmt.Sprintf("%d of %d processes are stopped", n, len(processes)), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%d of %d processes are stopped: %w", n, len(processes), context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// stopped returns the number of stopped processes.
func stopped(processes []Process) (n int) {
	for _, p := range processes {
		if process.Stopped(p.Pid, p.StartTicks) {
			n++
		}
	}
	return n
}
