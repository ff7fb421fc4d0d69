package control

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/coreos/dbtester/pkg/results"
)

// derive makes the classic files from the canonical records, and copies to where
// a classic file asks for them.
func (c *conductor) derive() error {
	if c.run.Totals == nil {
		return nil // nothing was measured
	}
	if err := results.Derive(c.dir, c.run); err != nil {
		return fmt.Errorf("derive classic files: %w", err)
	}
	return c.export()
}

func (c *conductor) export() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Experiment.Export)) {
		from := filepath.Join(c.dir, name)
		if _, err := os.Stat(from); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := copyFile(from, c.Experiment.Export[name]); err != nil {
			errs = append(errs, fmt.Errorf("export %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// exportRun leaves what the classic files have no place for beside the summary that
// was exported.
func (c *conductor) exportRun() error {
	summary := c.Experiment.Export[results.FileClassicSummary]
	if summary == "" || c.run.Totals == nil {
		return nil // nothing was exported
	}
	m := *c.manifest
	m.State, m.Ended, m.Databases = c.run.State, c.run.Ended, []*results.DatabaseRun{c.run}
	return results.WriteSidecar(summary, &m)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
