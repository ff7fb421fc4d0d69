package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/tools/experiment"
)

// squeezed is a run whose clients have one processor, which this program occupies with real-time
// priority during most of the load. Agents and members may use all processors.
type squeezed experiment.Control

// onOne runs control on one processor.
const onOne = "#!/bin/sh\nexec taskset -c 0 '%s' \"$@\"\n"

// How long the processor is occupied, and then free. A program with the same priority as the
// clients would let them run after a few milliseconds; dbtester counts stops from 10 ms on.
const (
	taken = 90 * time.Millisecond
	free  = 10 * time.Millisecond
)

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

// occupy takes a processor while the run in dir has load.
func occupy(ctx context.Context, dir string) error {
	if !experiment.Await(ctx, dir, "load start") {
		return errors.New("the load did not begin")
	}
	ctx, end := context.WithCancel(ctx)
	over := make(chan error)
	go func() { over <- take(ctx) }()
	experiment.Await(ctx, dir, "load end")
	end()
	return <-over
}

// take occupies the first processor periodically until ctx ends, and then restores its thread. The
// thread must not end, because the agents it started would end with it.
func take(ctx context.Context) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var usual, first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usual); err != nil {
		return fmt.Errorf("ask for this thread's processors: %w", err)
	}
	first.Set(0)
	if err := unix.SchedSetaffinity(0, &first); err != nil {
		return fmt.Errorf("run on the first processor: %w", err)
	}
	defer func() { err = errors.Join(err, unix.SchedSetaffinity(0, &usual)) }()
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1}, 0); err != nil {
		return fmt.Errorf("have real-time priority: %w", err)
	}
	defer func() { err = errors.Join(err, unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_NORMAL}, 0)) }()
	for ctx.Err() == nil {
		for begun := time.Now(); time.Since(begun) < taken; {
		}
		time.Sleep(free)
	}
	return nil
}
