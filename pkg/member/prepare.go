package member

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coreos/dbtester/pkg/database"
)

// prepare makes the directories, empties the data directories and writes the files. It uses the
// member directory as a root, so neither a path in the plan nor a symbolic link can reach outside
// it.
func prepare(o Options) error {
	for _, dir := range []string{o.Dir, o.LogDir} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return fmt.Errorf("prepare the member: %w", err)
		}
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return fmt.Errorf("prepare the member: %w", err)
	}
	defer root.Close()
	// Remove all before making any, because one may contain another; make them before the files,
	// because one may contain a file.
	for _, dir := range o.Plan.DataDirs {
		if err := root.RemoveAll(dir); err != nil {
			return fmt.Errorf("empty data directory %q: %w", dir, err)
		}
	}
	for _, dir := range o.Plan.DataDirs {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make data directory %q: %w", dir, err)
		}
	}
	for _, f := range o.Plan.Files {
		if err := write(root, f); err != nil {
			return fmt.Errorf("write file %q: %w", f.Path, err)
		}
	}
	return nil
}

// write replaces a file, so that the mode and links of the old file do not survive.
func write(root *os.Root, f database.File) error {
	mode := fs.FileMode(0o640)
	if f.Secret {
		mode = 0o600
	}
	if err := root.MkdirAll(filepath.Dir(f.Path), 0o750); err != nil {
		return err
	}
	if err := root.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.WriteFile(f.Path, []byte(f.Content), mode)
}
