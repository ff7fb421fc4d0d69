// Package wholefile writes files that readers find complete or not at all, even after a crash.
package wholefile

import (
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
)

// Suffix ends the name of a file that is being written.
const Suffix = ".part"

// perm is the mode of a new file, whatever the umask.
const perm = 0o644

// Write replaces the file at name with the output of write. The folder must exist. If write fails,
// the old file stays and nothing else is left. A name must have only one writer at a time.
func Write(name string, write func(io.Writer) error) error {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer root.Close()
	return WriteIn(root, filepath.Base(name), write)
}

// WriteIn writes like [Write], below a root, which name (separated by slashes) cannot leave.
func WriteIn(root *os.Root, name string, write func(io.Writer) error) error {
	part := name + Suffix
	f, err := root.Create(part)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(perm), f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(part))
	}
	return syncDir(root, path.Dir(name))
}

// Bytes returns a function for [Write] and [WriteIn] that writes data.
func Bytes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// syncDir makes a rename in dir survive a crash.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
