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
	"github.com/coreos/dbtester/pkg/results/sidecar"
)

// derive makes the classic files from the canonical records, and copies them to the
// paths that a classic experiment file names.
func (r *run) derive() error {
	if r.record.Totals == nil {
		return nil // nothing was measured
	}
	if err := results.Derive(r.dir, r.record); err != nil {
		return fmt.Errorf("derive classic files: %w", err)
	}
	return r.export()
}

func (r *run) export() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(r.experiment.Export)) {
		from := filepath.Join(r.dir, name)
		if _, err := os.Stat(from); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := copyFile(from, r.experiment.Export[name]); err != nil {
			errs = append(errs, fmt.Errorf("export %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// exportSidecar writes the facts of the run that the classic files have no place
// for beside the summary that was exported.
func (r *run) exportSidecar(trial *results.Manifest) error {
	summary := r.experiment.Export[results.FileClassicSummary]
	if summary == "" || r.record.Totals == nil {
		return nil // nothing was exported
	}
	m := *trial
	m.State, m.Ended, m.Databases = r.record.State, r.record.Ended, []*results.DatabaseRun{r.record}
	return sidecar.Write(summary, &m)
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
