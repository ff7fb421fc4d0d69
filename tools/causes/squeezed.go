package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/tools/experiment"
)

// squeezed is a run whose clients have one processor, on which another program of higher priority runs
// from the beginning of the load to its end. Agents and members may use all processors.
type squeezed experiment.Control

// onOne is the command of control on one processor.
const onOne = "#!/bin/sh\nexec taskset -c 0 nice -n 19 '%s' \"$@\"\n"

func (s squeezed) run(ctx context.Context, record string) (manifest string, err error) {
	control := experiment.Control(s)
	if err := os.MkdirAll(control.Dir, 0o755); err != nil {
		return "", err
	}
	program, err := filepath.Abs(control.Program)
	if err != nil {
		return "", err
	}
	var agents experiment.Agents
	defer func() { err = errors.Join(err, agents.Stop()) }()
	if err := agents.Start(program, control.Dir, hosts()); err != nil {
		return "", err
	}
	control.Program, control.Agents = filepath.Join(control.Dir, "on-one"), true
	if err := os.WriteFile(control.Program, fmt.Appendf(nil, onOne, program), 0o700); err != nil {
		return "", err
	}
	var failed error
	control.Beside = func(ctx context.Context, _ *os.Process) { failed = occupy(ctx, experiment.Results(control.Dir)) }
	manifest, err = control.Run(ctx, record)
	return manifest, errors.Join(err, failed)
}

// occupy uses a processor from the beginning of the load to its end.
func occupy(ctx context.Context, results string) error {
	if !awaitEvent(ctx, results, "load start") {
		return errors.New("the load did not begin")
	}
	busy := exec.Command("taskset", "-c", "0", "sh", "-c", "while :; do :; done")
	busy.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := busy.Start(); err != nil {
		return err
	}
	awaitEvent(ctx, results, "load end")
	err := busy.Process.Kill()
	_ = busy.Wait() // it was killed
	return err
}

// awaitEvent waits until the events of the run below a folder have one of a kind. It returns false if
// ctx ended before.
func awaitEvent(ctx context.Context, results, kind string) bool {
	for {
		found, _ := filepath.Glob(filepath.Join(results, "*", "*", "*", "events.jsonl")) // the pattern is right
		for _, path := range found {
			if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, fmt.Appendf(nil, `"kind":%q`, kind)) {
				return true
			}
		}
		if !sleep.For(ctx, 100*time.Millisecond) {
			return false
		}
	}
}
