// Package install obtains releases of databases into a cache and checks them. It
// knows kinds of recipes, never names of databases.
//
// A release appears in the cache whole or not at all: it is made in a staging
// directory beside it, checked, and renamed.
package install

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Installer obtains releases into one cache directory. Its fields do not change
// once it is used; its methods are safe for concurrent use, by several
// processes too.
type Installer struct {
	// Cache is the cache's directory; it is made when first needed.
	Cache string
	// Progress, if set, is told in one line what is going on. Calls from one Get do
	// not overlap; those of several do.
	Progress func(line string)
	// Client fetches; nil means a client with sensible time-outs.
	Client *http.Client
	// Lookup finds an executable of the machine by name; nil means the PATH.
	Lookup func(name string) (string, error)
	// MaxBytes bounds an archive, packed and unpacked; 0 means 4 GiB.
	MaxBytes int64

	// retryAfter is the pause before the one retry of a download; 0 means a second.
	retryAfter time.Duration
}

// Get returns the release from the cache, or obtains it by the first recipe
// that works. A release that another process is obtaining is waited for. The
// error joins what every recipe failed with; nothing is left behind by one that
// failed. A cached release is compared with its recorded hashes first.
func (in *Installer) Get(ctx context.Context, name, version string, recipes []Recipe) (Release, error) {
	return Release{}, errors.New("not yet")
}

// Find returns the release if the cache has it, with every tool it needs. It
// does not hash.
func (in *Installer) Find(name, version string) (Release, bool) {
	return Release{}, false
}

// List returns the releases of the cache, by name and then by version. A
// directory that cannot be read as a release is part of the error, beside the
// others.
func (in *Installer) List() ([]Release, error) {
	return nil, nil
}
