package install

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/process"
)

// tool finds an executable on the machine. The error explains how to get it.
func (in *Installer) tool(name string) (string, error) {
	lookup := in.Lookup
	if lookup == nil {
		lookup = exec.LookPath
	}
	path, err := lookup(name)
	if err != nil {
		return "", fmt.Errorf("%s is needed but was not found (%s): %w", name, hint(name), err)
	}
	return filepath.Abs(path)
}

// hint explains how to get an executable some recipes need.
func hint(name string) string {
	switch name {
	case "go":
		return "install Go from https://go.dev/dl"
	case "java":
		return "install a Java runtime, on Debian: apt-get install openjdk-17-jre-headless"
	case "mvn":
		return "install Maven and a JDK, on Debian: apt-get install maven"
	default:
		return "install it or put it into the PATH"
	}
}

// Parameters for watching and stopping a running tool.
const (
	watchEvery   = time.Second
	stopPatience = 5 * time.Second
	shownLines   = 25
	spareBytes   = 64 << 10 // a disk with less free space is full
)

// run runs a command in the stage's scratch directory until it exits. Its last output lines are
// reported as progress, and are part of the error if it fails.
func (s *stage) run(ctx context.Context, path string, args, env []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	log := filepath.Join(s.work, filepath.Base(path)+".log")
	h, err := process.Start(process.Command{
		Name: filepath.Base(path), Path: path, Args: args, Env: env, Dir: s.work, Log: log,
	})
	if err != nil {
		return err
	}
	s.watch(ctx, h, log)
	patience := process.Deadlines{Interrupt: stopPatience, Kill: stopPatience}
	exit := h.Stop(context.WithoutCancel(ctx), patience)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if exit.Code == 0 {
		return nil
	}
	out, err := process.Tail(log, shownLines)
	if err != nil {
		out = err.Error()
	}
	err = fmt.Errorf("%s: %s:\n%s", strings.Join(h.Argv(), " "), exit, out)
	if s.diskFull(out) {
		err = fmt.Errorf("%w\n%w", err, syscall.ENOSPC)
	}
	return err
}

// diskFull reports whether a tool failed because the disk is full: its log contains that error, or
// is empty because it is on the same disk.
func (s *stage) diskFull(output string) bool {
	if strings.Contains(strings.ToLower(output), "no space left on device") {
		return true
	}
	var disk unix.Statfs_t
	err := unix.Statfs(s.work, &disk)
	return err == nil && disk.Bavail*uint64(disk.Bsize) < spareBytes
}

// watch reports the last line of the log whenever it changes, until the process or ctx ends.
func (s *stage) watch(ctx context.Context, h *process.Handle, log string) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-h.Done():
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		line, err := process.Tail(log, 1)
		if line = plain(line); err == nil && line != "" && line != last {
			last = line
			s.say("%s", line)
		}
	}
}

// plain removes colours from line.
func plain(line string) string {
	for {
		before, rest, found := strings.Cut(line, "\x1b[")
		if !found {
			return strings.TrimSpace(line)
		}
		line = before + strings.TrimPrefix(strings.TrimLeft(rest, "0123456789;"), "m")
	}
}

// needs finds executables on the machine.
func (in *Installer) needs(names []string) (map[string]string, error) {
	found := map[string]string{}
	var missing []error
	for _, name := range names {
		p, err := in.tool(name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		found[name] = p
	}
	return found, errors.Join(missing...)
}
