package member

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coreos/dbtester/pkg/database"
)

// prepare makes the directories, empties the data directories and writes the
// files. All of it goes through the member's directory as a root, so neither a
// path of the plan nor a symbolic link can reach outside.
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
	// All are removed before any is made, because one may lie in another; and made
	// before the files, because a file may lie in one.
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

// write replaces one file, so that neither the mode nor the links of an older file
// remain.
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
