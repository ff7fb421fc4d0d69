package cgroup

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// kernel makes, queries and removes groups through files and directories. Tests use their own
// directory.
type kernel interface {
	mkdir(dir string) error
	rmdir(dir string) error
	// read returns the content of a file without surrounding white space.
	read(file string) (string, error)
	// write writes to an existing file.
	write(file, text string) error
	// writable returns an error if groups cannot be made in a directory.
	writable(dir string) error
	kill(pid int)
}

// linux is this machine's kernel.
type linux struct{}

var _ kernel = linux{}

func (linux) mkdir(dir string) error { return os.Mkdir(dir, 0o755) }

// rmdir differs from os.Remove, which would also remove a file.
func (linux) rmdir(dir string) error {
	if err := unix.Rmdir(dir); err != nil {
		return &os.PathError{Op: "rmdir", Path: dir, Err: err}
	}
	return nil
}

func (linux) read(file string) (string, error) {
	data, err := os.ReadFile(file)
	return strings.TrimSpace(string(data)), err
}

func (linux) write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

func (linux) writable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &os.PathError{Op: "write to", Path: dir, Err: err}
	}
	return nil
}

func (linux) kill(pid int) { _ = unix.Kill(pid, unix.SIGKILL) } // fails only if the process is gone
