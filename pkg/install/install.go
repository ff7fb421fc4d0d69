// Package install obtains database releases into a cache and verifies them. It knows kinds of
// recipes, but no database names.
//
// A release appears in the cache complete or not at all: it is built in a staging directory on the
// same file system, verified, and renamed.
package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

// Get returns the release from the cache, or obtains it by the first recipe that works. It first
// compares a cached release with its recorded hashes. It waits for a release that another process
// is obtaining. The error joins those from all recipes. A recipe that fails leaves no files.
func (in *Installer) Get(ctx context.Context, name, version string, recipes []recipe.Recipe) (Release, error) {
	id, err := newID(name, version)
	if err != nil {
		return Release{}, err
	}
	r, err := in.get(ctx, id, recipes)
	if err != nil {
		return Release{}, fmt.Errorf("install %s: %w", id, in.explain(err))
	}
	return r, nil
}

func (in *Installer) get(ctx context.Context, id id, recipes []recipe.Recipe) (Release, error) {
	if r, err := in.cached(id); !errors.Is(err, ErrAbsent) {
		return r, err
	}
	unlock, err := in.lock(ctx, id)
	if err != nil {
		return Release{}, err
	}
	defer unlock()
	// The previous holder of the lock may have obtained it.
	if r, err := in.cached(id); !errors.Is(err, ErrAbsent) {
		return r, err
	}
	if err := in.sweep(id); err != nil {
		return Release{}, err
	}
	if len(recipes) == 0 {
		return Release{}, errors.New("it is not in the cache and there is no recipe for it")
	}
	var failures []error
	for _, way := range recipes {
		err := in.try(ctx, id, way)
		if err == nil {
			return in.load(id)
		}
		if ctx.Err() != nil {
			return Release{}, fmt.Errorf("%s: %w", way.Describe(id.version), context.Cause(ctx))
		}
		err = fmt.Errorf("%s: %w", way.Describe(id.version), err)
		in.say("%s: %v", id, err)
		failures = append(failures, err)
	}
	return Release{}, failed(failures)
}

// failed joins the failures from all recipes that were tried.
func failed(failures []error) error {
	if len(failures) == 1 {
		return failures[0]
	}
	return fmt.Errorf("none of %d recipes worked:\n%w", len(failures), errors.Join(failures...))
}

// cached returns the cached release, verified against its hashes, or ErrAbsent.
func (in *Installer) cached(id id) (Release, error) {
	r, err := in.load(id)
	if err != nil {
		return Release{}, err
	}
	if err := r.Verify(); err != nil {
		return Release{}, fmt.Errorf("the copy in the cache is damaged (remove %s to install it again): %w", r.Dir, err)
	}
	return r, nil
}

// try obtains the release by one recipe, checks it and puts it into the cache.
func (in *Installer) try(ctx context.Context, id id, way recipe.Recipe) (err error) {
	for tool, rel := range way.Layout() {
		if err := errors.Join(checkElement("tool", tool), checkInside(rel)); err != nil {
			return err
		}
	}
	about := way.Facts()
	if _, err := in.needs(about.Needs); err != nil {
		return err
	}
	s, err := in.newStage(id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	in.say("%s: %s", id, way.Describe(id.version))
	if err := s.obtain(ctx, way); err != nil {
		return err
	}
	r := Release{
		Name: id.name, Version: id.version, Kind: way.Kind(), Source: s.source,
		Documented: about.Source, Needs: about.Needs, Obtained: time.Now().UTC(), Notes: append(s.notes, about.Notes...),
	}
	if about.NotTried {
		r.Notes = append(r.Notes, "this recipe was written from documentation and had never run before")
	}
	if err := s.seal(&r, way.Layout()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.publish()
}

// obtain fills the stage with the release files and checks them.
func (s *stage) obtain(ctx context.Context, way recipe.Recipe) error {
	switch way := way.(type) {
	case recipe.Archive:
		return s.obtainArchive(ctx, way)
	case recipe.GoBuild:
		return s.buildModule(ctx, way)
	case recipe.Checkout:
		return s.buildCheckout(ctx, way)
	case recipe.Maven:
		return s.copyJars(ctx, way)
	case recipe.Local:
		return s.copyLocal(ctx, way)
	}
	return fmt.Errorf("the recipe must be of a known kind, got %q", way.Kind())
}
