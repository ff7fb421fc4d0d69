package wholefile

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// privatePerm is the mode of a secret, from the moment it is made.
const privatePerm = 0o600

// WritePrivate is [Write] for a secret: at no moment can another user read it. Several
// writers of one name do no harm; the last one wins.
func WritePrivate(name string, write func(io.Writer) error) error {
	return private(name, write, (*os.Root).Rename)
}

// CreatePrivate is [WritePrivate] for a name that must be new: if it exists, the file
// there stays and the error is [fs.ErrExist]. One of several concurrent calls succeeds.
func CreatePrivate(name string, write func(io.Writer) error) error {
	return private(name, write, func(root *os.Root, part, name string) error {
		return errors.Join(root.Link(part, name), root.Remove(part))
	})
}

// private writes a file under a name of its own and then puts it in its place.
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
	// The umask may have taken bits of the owner.
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
