package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
)

// exportServers copies the servers' samples of a run to where a classic file has
// analyze read them. Classic agents uploaded them there by themselves. It does so
// only for a database of which analyze reads what control exports: elsewhere lie
// files of another run, which are not ours to replace.
func exportServers(e *config.Experiment, dir string) error {
	var errs []error
	for _, db := range e.Databases {
		in := e.Inputs[db.Tag]
		ours := e.Export[results.FileClientInterpolated]
		if ours == "" || filepath.Clean(ours) != filepath.Clean(in.Files[results.FileClientInterpolated]) {
			continue
		}
		for i, path := range in.Servers {
			from := filepath.Join(dir, db.Tag, fmt.Sprintf("%d-%s", i+1, results.FileServerInterpolated))
			data, err := os.ReadFile(from)
			if errors.Is(err, fs.ErrNotExist) {
				continue // the run did not come so far
			}
			if err == nil {
				err = writeBelow(path, data)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("export the samples of server %d: %w", i+1, err))
			}
		}
	}
	return errors.Join(errs...)
}

// writeBelow writes a file and makes its folder.
func writeBelow(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
