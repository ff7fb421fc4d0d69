package wholefile

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// privatePerm is the mode of a secret file, from its creation on.
const privatePerm = 0o600

// WritePrivate writes like [Write], for a secret: no other user can read it at any time. Concurrent
// writers of one name are safe; the last one wins.
func WritePrivate(name string, write func(io.Writer) error) error {
	return private(name, write, (*os.Root).Rename)
}

// CreatePrivate writes like [WritePrivate], for a new name. If the name exists, the file is
// unchanged and the error is [fs.ErrExist]. Only one of several concurrent calls succeeds.
func CreatePrivate(name string, write func(io.Writer) error) error {
	return private(name, write, func(root *os.Root, part, name string) error {
		return errors.Join(root.Link(part, name), root.Remove(part))
	})
}

// private writes to a unique name and then moves the file into place with put.
func private(name string, write func(io.Writer) error, put func(root *os.Root, part, name string) error) error {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer root.Close()
	name = filepath.Base(name)
	part := name + "." + rand.Text() + Suffix
	f, err := root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, privatePerm)
	if err != nil {
		return err
	}
	// The umask may have removed permissions from the owner.
	err = errors.Join(write(f), f.Chmod(privatePerm), f.Sync(), f.Close())
	if err != nil {
		return errors.Join(err, root.Remove(part))
	}
	if err := put(root, part, name); err != nil {
		_ = root.Remove(part) // put may have removed it
		return err
	}
	return syncDir(root, ".")
}
