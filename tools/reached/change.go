package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// changed returns the files that differ from a revision, relative to the checkout root.
func changed(dir, since string) ([]string, error) {
	tracked, err := output(dir, "git", "diff", "--name-only", "--no-renames", "-z", since, "--")
	untracked, err2 := output(dir, "git", "ls-files", "--others", "--exclude-standard", "-z")
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	return strings.FieldsFunc(tracked+untracked, func(r rune) bool { return r == 0 }), nil
}

// output runs a command in dir and returns its standard output.
func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("run %s %s: %w: %s", name, args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w", name, err)
	}
	return string(out), nil
}
