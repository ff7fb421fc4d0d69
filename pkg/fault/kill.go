package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coreos/dbtester/pkg/process"
)

// kill ends the member's commands with SIGKILL, and starts them again on their data.
func kill() Kind {
	return Kind{
		Name:    "kill",
		Meaning: "SIGKILL; started again on its data after `for`. Writes that were not synchronized survive in the page cache: this is not a power failure",
		apply: func(ctx context.Context, v Victim, r Record) (string, error) {
			return end(ctx, v, r, false)
		},
		undo: again,
	}
}

// end ends the member's commands.
func end(ctx context.Context, v Victim, r Record, graceful bool) (string, error) {
	if len(r.Processes) == 0 {
		return "", errNotRunning
	}
	if err := v.End(ctx, r.ID, graceful); err != nil {
		return "", err
	}
	for _, p := range r.Processes {
		if process.Alive(p.Pid, p.StartTicks) {
			return "", fmt.Errorf("pid %d still runs", p.Pid)
		}
	}
	return fmt.Sprintf("%d of %d processes ended", len(r.Processes), len(r.Processes)), nil
}

// again restarts the member's commands after the fault ended them.
func again(ctx context.Context, v Victim, r Record) (string, error) {
	if !v.Ended(r.ID) {
		return "", nil // it was never applied
	}
	if err := v.Start(ctx, r.ID); err != nil {
		return "", err
	}
	running := v.Processes()
	if len(running) == 0 {
		return "", errNotRunning
	}
	for _, p := range running {
		if slices.Contains(r.Processes, p) {
			return "", fmt.Errorf("pid %d was never ended", p.Pid)
		}
	}
	return fmt.Sprintf("%d processes run, none of those before", len(running)), nil
}

// errNotRunning reports that a member has no running processes.
var errNotRunning = errors.New("no process of the member runs")
