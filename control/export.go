package control

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/sidecar"
)

// exports are copies of run files at the paths in the experiment file, where other programs read
// them.
type exports struct {
	// copies are ordered by name. from is the name in the tag folder.
	copies []fileCopy
	// notes are lines that report where copies go, and which copies are left out.
	notes []string
}

type fileCopy struct{ from, to string }

// newExports decides which copies are made. It leaves out paths that this process may not write:
// every record is in the result folder too.
func newExports(r *run) *exports {
	x := &exports{}
	client := r.experiment.ExportOf(r.db.Tag)
	var copies []fileCopy
	for _, name := range slices.Sorted(maps.Keys(client)) {
		copies = append(copies, fileCopy{name, client[name]})
	}
	copies = append(copies, x.inputs(r, client)...)
	refused, places := map[string]bool{}, map[string]bool{}
	for _, c := range copies {
		dir := filepath.Dir(c.to)
		if err := writable(c.to); err != nil {
			if !refused[dir] {
				x.notes = append(x.notes, fmt.Sprintf("no files are copied to %s, which cannot be written: %v; the result folder has them", dir, err))
			}
			refused[dir] = true
			continue
		}
		if !slices.ContainsFunc(x.copies, func(o fileCopy) bool { return filepath.Clean(o.to) == filepath.Clean(c.to) }) {
			x.copies = append(x.copies, c)
		}
		if name := filepath.Base(c.to); !places[dir] {
			places[dir] = true
			x.notes = append(x.notes, fmt.Sprintf("files are copied to %s when the run ends, such as %s", dir, name))
		}
	}
	return x
}

// inputs returns the copies that analyze reads with the same experiment file. It makes no copies if
// analyze reads other files, whose names neither begin with the tag, as uploaded ones do, nor equal
// those of the client copies. It keeps files of other programs.
func (x *exports) inputs(r *run, client map[string]string) (copies []fileCopy) {
	in := r.experiment.Inputs[r.db.Tag]
	read, own := in.Files[results.FileClientInterpolated], r.experiment.Export[results.FileClientInterpolated]
	switch {
	case read == "":
		return nil
	case filepath.Base(read) == r.db.Tag+"-"+results.FileClientInterpolated, same(read, client[results.FileClientInterpolated]):
	case same(read, own) && r.onlyReader(read):
	default:
		return nil
	}
	summary := in.Files[results.FileClassicSummary]
	if summary != "" && exists(summary) && !exists(sidecar.Path(summary)) {
		x.notes = append(x.notes, fmt.Sprintf("%s and similar files were made by another program and are left unchanged; move them away so that analyze --config reads this run", summary))
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		copies = append(copies, fileCopy{name, in.Files[name]})
	}
	for i, path := range in.Servers {
		copies = append(copies, fileCopy{fmt.Sprintf("%d-%s", i+1, results.FileServerInterpolated), path})
	}
	return copies
}

// onlyReader reports whether analyze reads a path for this database alone.
func (r *run) onlyReader(path string) bool {
	for tag, in := range r.experiment.Inputs {
		if tag != r.db.Tag && same(path, in.Files[results.FileClientInterpolated]) {
			return false
		}
	}
	return true
}

func same(a, b string) bool { return a != "" && b != "" && filepath.Clean(a) == filepath.Clean(b) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// writable returns why this process may not make or replace a file.
func writable(path string) error {
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		err := unix.Access(at, unix.W_OK)
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return err
		}
	}
}

// copy makes the copies for a measured run. Next to each summary it writes a manifest for this run,
// with the facts that classic files have no place for.
func (x *exports) copy(r *run, trial *results.Manifest) error {
	if r.record.Totals == nil {
		return nil // nothing was measured
	}
	m, db := *trial, *r.record
	db.Digests = nil // classic files are not the recorded ones
	m.State, m.Ended, m.Databases = r.record.State, r.record.Ended, []*results.DatabaseRun{&db}
	var errs []error
	if summary := filepath.Join(r.dir, results.FileClassicSummary); r.experiment.Classic && exists(summary) {
		errs = append(errs, sidecar.Write(summary, &m))
	}
	for _, c := range x.copies {
		from := filepath.Join(r.dir, c.from)
		if !exists(from) {
			continue
		}
		err := copyFile(from, c.to)
		if err == nil && c.from == results.FileClassicSummary {
			err = sidecar.Write(c.to, &m)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("export %s: %w", c.from, err))
		}
	}
	return errors.Join(errs...)
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

// derive makes the classic files from the canonical records.
func (r *run) derive() error {
	if r.record.Totals == nil {
		return nil // nothing was measured
	}
	var named []string
	for _, c := range newExports(r).copies {
		named = append(named, c.from)
	}
	if err := results.Derive(r.dir, r.record, named...); err != nil {
		return fmt.Errorf("derive classic files: %w", err)
	}
	return nil
}

// completeAbilities has abilities complete their records, whether or not the load was measured.
func (r *run) completeAbilities() error {
	var errs []error
	for _, half := range r.halves {
		if c, ok := half.(abilities.Completer); ok {
			errs = append(errs, c.Complete())
		}
	}
	return errors.Join(errs...)
}

// finishAbilities makes abilities record the results derived from the load records.
func (r *run) finishAbilities() error {
	if r.record.Totals == nil {
		return nil
	}
	var errs []error
	for _, half := range r.halves {
		if f, ok := half.(abilities.Finisher); ok {
			errs = append(errs, f.Finish())
		}
	}
	return errors.Join(errs...)
}
