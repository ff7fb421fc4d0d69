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

// exportServers copies the servers' samples of a run to the paths where a classic
// file expects them for analyze; classic agents uploaded them there themselves. It
// skips databases whose inputs are not exported by control: those paths hold files
// of another run.
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
				continue // the run ended before it was sampled
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
