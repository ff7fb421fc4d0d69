package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

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
	control.Beside = func(ctx context.Context, _ *os.Process) { failed = occupy(ctx, control.Dir) }
	manifest, err = control.Run(ctx, record)
	return manifest, errors.Join(err, failed)
}

// occupy uses a processor from the beginning of the load of the run in a folder to its end.
func occupy(ctx context.Context, dir string) error {
	if !experiment.Await(ctx, dir, "load start") {
		return errors.New("the load did not begin")
	}
	busy := exec.Command("taskset", "-c", "0", "sh", "-c", "while :; do :; done")
	busy.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := busy.Start(); err != nil {
		return err
	}
	experiment.Await(ctx, dir, "load end")
	err := busy.Process.Kill()
	_ = busy.Wait() // it was killed
	return err
}
