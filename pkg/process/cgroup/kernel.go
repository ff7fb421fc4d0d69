package cgroup

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// kernel is how groups are made, asked and removed: by files and directories, which the
// tests make themselves.
type kernel interface {
	mkdir(dir string) error
	rmdir(dir string) error
	// read returns a file without the blanks around it.
	read(file string) (string, error)
	// write writes to a file that exists.
	write(file, text string) error
	// writable returns why groups can't be made in a directory.
	writable(dir string) error
	kill(pid int)
}

// linux is the kernel of this machine.
type linux struct{}

var _ kernel = linux{}

func (linux) mkdir(dir string) error { return os.Mkdir(dir, 0o755) }

// rmdir is not os.Remove, which would remove a file too.
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

func (linux) kill(pid int) { _ = unix.Kill(pid, unix.SIGKILL) } // fails only for a process that is gone
