// Package versus describes the servers on both sides of a comparison: an experiment file, and the
// release, executable or checkout that replaces the server.
package versus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/install/recipe"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Side is an experiment file, and the server that replaces the one in it.
type Side struct {
	// Name is "A" or "B", and File its experiment file.
	Name, File string
	// Text holds the contents of File if it was read from standard input; nil reads the file.
	Text []byte
	// Version is the release that replaces the one in the file. Exec is an executable that does,
	// and Source the checkout for building one. At most one of Exec and Source is given. Version
	// then names the release whose defaults the executable has.
	Version, Exec, Source string

	variant config.Variant
	runs    string
}

// Given reports whether something replaces the server in the file.
func (s *Side) Given() bool { return s.Version != "" || s.Exec != "" || s.Source != "" }

// Check returns an error if both an executable and a checkout are given.
func (s *Side) Check() error {
	if s.Exec != "" && s.Source != "" {
		return fmt.Errorf("%s: give an executable or a checkout, not both", s.Name)
	}
	return nil
}

// MistakeError reports a side that the user must describe differently.
type MistakeError struct{ error }

func (e MistakeError) Unwrap() error { return e.error }

// Preparer obtains the servers that sides run.
type Preparer struct {
	Registry *database.Registry
	// Installer builds checkouts and keeps the builds.
	Installer *install.Installer
	// Upstream gives options not set in the file the defaults of each release, unless the file
	// decides that itself.
	Upstream bool
	// Capacity has sides search for a capacity. The sides are compared by it.
	Capacity bool
}

// Prepare obtains the server for s: afterwards [Side.Read] returns the experiment. It prints
// nothing. Its error is a [MistakeError] if s is described wrongly.
func (p *Preparer) Prepare(ctx context.Context, s *Side) ([]yamlfile.Problem, error) {
	if err := s.Check(); err != nil {
		return nil, MistakeError{err}
	}
	if p.Upstream {
		s.variant.Defaults = config.DefaultsUpstream
	}
	e, warnings, err := s.Read(p.Registry.All())
	if err != nil {
		return warnings, MistakeError{err} // also for files that cannot be opened
	}
	if err := p.oneRun(e, s.File); err != nil {
		return warnings, MistakeError{err}
	}
	if !s.Given() {
		return warnings, nil
	}
	db := &e.Databases[0]
	entry, err := p.Registry.Get(db.Name)
	if err == nil && (len(db.Endpoints) > 0 || !db.Steps.Start) {
		err = fmt.Errorf("%s: %s is a cluster that is already running: it cannot be replaced by a version, executable or checkout", s.Name, db.ID)
	}
	if err == nil && s.Version != "" {
		err = p.release(s, entry)
	}
	if err != nil {
		return warnings, MistakeError{err}
	}
	return warnings, p.executable(ctx, s, entry)
}

// oneRun returns an error unless e is one run with one database. Its load must be the same each
// time, or a search for its capacity.
func (p *Preparer) oneRun(e *config.Experiment, path string) error {
	switch {
	case len(e.Databases) != 1:
		return fmt.Errorf("%s must have one database to be compared, got %d", path, len(e.Databases))
	case e.Trials > 1:
		return fmt.Errorf("%s must have one trial, got %d: pairs are the trials of a comparison", path, e.Trials)
	case e.Search() != nil && !p.Capacity:
		return fmt.Errorf("%s searches for a capacity, and each search ends at a different rate: it can be compared only by the metric capacity", path)
	case e.Search() == nil && p.Capacity:
		return fmt.Errorf("%s must search for a capacity (capacity: {latency: 20ms}) to be compared by it", path)
	}
	return nil
}

// Unlike returns an error if the sides search for different capacities, with the keys and their
// places in both files.
func Unlike(a, b *config.Experiment) error {
	keys := capacity.Keys()
	x, y := keys.Of(a.Abilities).Sought(), keys.Of(b.Abilities).Sought()
	var errs []error
	for _, f := range keys.Fields().Fields {
		path := yamlfile.JoinPath(keys.Key, f.Name)
		if p, q := textOf(f.Node(&x)), textOf(f.Node(&y)); p != q {
			errs = append(errs, fmt.Errorf("%s must be the same in both files to compare what is found: %s (%s), and %s (%s)", path, p, placeOf(a, path), q, placeOf(b, path)))
		}
	}
	return errors.Join(errs...)
}

func textOf(n *yamlfile.Node) string {
	if n == nil {
		return "none"
	}
	return n.Value
}

// placeOf returns the place of a key value, or the file for default values.
func placeOf(e *config.Experiment, path string) string {
	if place := e.Place(path); place != "" {
		return place
	}
	return "by default in " + e.Path
}

// release makes s run a release, and installs it unless it is built in.
func (p *Preparer) release(s *Side, entry database.Database) error {
	version := database.PlainVersion(s.Version)
	s.variant.Version, s.runs = version, fmt.Sprintf("%s %s", entry.Name, version)
	s.variant.Install = version != entry.Info.Embedded && s.Exec == "" && s.Source == ""
	if !s.variant.Install {
		return nil
	}
	if _, err := entry.Recipes(version); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// executable makes s run an existing executable, or one built now.
func (p *Preparer) executable(ctx context.Context, s *Side, entry database.Database) error {
	path, words := s.Exec, ""
	switch {
	case s.Source != "":
		r, err := p.build(ctx, s, entry)
		if err != nil {
			return fmt.Errorf("build %s of side %s from %s: %w", entry.Name, s.Name, s.Source, err)
		}
		path, words = r.Files[entry.Info.Tools[0]], " built from "+r.Source+", "+r.Version
	case s.Exec == "":
		return nil
	}
	if len(entry.Info.Tools) == 0 {
		return MistakeError{fmt.Errorf("%s has no executable that can be replaced", entry.Name)}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("find the executable: %w", err)
	}
	sum, err := executableSum(path)
	if err != nil {
		return MistakeError{fmt.Errorf("%s: %w", s.Name, err)}
	}
	if words == "" {
		words = " " + path
	}
	s.variant.Binary, s.runs = path, fmt.Sprintf("%s%s, sha256 %s", entry.Info.Tools[0], words, sum[:shownSum])
	return nil
}

// build builds a checkout, or finds the build in the cache.
func (p *Preparer) build(ctx context.Context, s *Side, entry database.Database) (install.Release, error) {
	dir, err := filepath.Abs(s.Source)
	if err != nil {
		return install.Release{}, err
	}
	if info, err := os.Stat(dir); err != nil {
		return install.Release{}, MistakeError{err}
	} else if !info.IsDir() {
		return install.Release{}, MistakeError{errors.New("a checkout must be a folder")}
	}
	checkout, err := entry.FromSource(dir)
	if err != nil {
		return install.Release{}, MistakeError{err}
	}
	version, err := p.Installer.CheckoutVersion(ctx, checkout)
	if err != nil {
		return install.Release{}, err
	}
	return p.Installer.Get(ctx, entry.Name, version, []recipe.Recipe{checkout})
}

// shownSum is the number of digits of a shown hash.
const shownSum = 12

// executableSum returns the hash of an executable file.
func executableSum(path string) (sum string, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return "", fmt.Errorf("%s must be an executable file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, f.Close())
}

// Read returns the experiment for s, a new one each time.
func (s *Side) Read(catalog config.Catalog) (*config.Experiment, []yamlfile.Problem, error) {
	if s.Text != nil {
		return s.variant.Parse(s.File, s.Text, catalog)
	}
	return s.variant.Read(s.File, catalog)
}

// Change describes the servers on both sides that replace those in the files, or "" if neither
// replaces its server or both run the same.
func Change(a, b *Side) string {
	if !a.Given() && !b.Given() {
		return ""
	}
	words := func(s *Side) string {
		if s.runs == "" {
			return "as in " + filepath.Base(s.File)
		}
		return s.runs
	}
	if words(a) == words(b) {
		return "" // A against A
	}
	return fmt.Sprintf("server: A: %s; B: %s", words(a), words(b))
}
