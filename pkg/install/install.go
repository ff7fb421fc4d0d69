// Package install obtains database releases into a cache and verifies them. It knows kinds of
// recipes, never names of databases.
//
// A release appears in the cache complete or not at all: it is built in a staging directory on the
// same file system, verified, and renamed.
package install

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

// Installer obtains releases into one cache directory. Its fields must not change after first use.
// Its methods are safe for concurrent use, also by several processes.
type Installer struct {
	// Cache is the cache directory, created on demand.
	Cache string
	// Progress, if set, is called with each line of progress. Calls from one Get do not overlap,
	// but calls from several may.
	Progress func(line string)
	// Client makes requests. If it is nil, the installer uses its own, which gives up on a server
	// that does not answer within a minute.
	Client *http.Client
	// Lookup finds an executable on the machine by name; nil means the PATH.
	Lookup func(name string) (string, error)
	// MaxBytes limits an archive's size, both packed and unpacked; 0 means 4 GiB.
	MaxBytes int64

	// retryAfter is the pause before the only retry of a download. stall is the time without a byte
	// after which a download has failed. 0 means the default.
	retryAfter, stall time.Duration
}

// Defaults for the installer's fields.
const (
	defaultMaxBytes   = 4 << 30
	defaultRetryAfter = time.Second
	defaultStall      = time.Minute
)

// Get returns the release from the cache, or obtains it by the first recipe that works. It first
// compares a cached release with its recorded hashes. It waits for a release that another process
// is obtaining. The error joins those of all recipes. A recipe that fails leaves no files.
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

// failed joins the failures of all recipes that were tried.
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

// needs finds executables on the machine.
func (in *Installer) needs(names []string) (map[string]string, error) {
	found := map[string]string{}
	var missing []error
	for _, name := range names {
		p, err := in.tool(name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		found[name] = p
	}
	return found, errors.Join(missing...)
}

func (in *Installer) say(format string, args ...any) {
	if in.Progress == nil {
		return
	}
	line, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	in.Progress(line)
}
