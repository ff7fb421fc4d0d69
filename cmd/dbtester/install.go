package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/install/recipe"
)

type installFlags struct {
	from  string
	cache string
	list  bool

	format format // for list
}

func newInstall(a *app) *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use:   "install NAME@VERSION...",
		Short: "Obtain releases of databases into the cache, verified",
		Long: `Obtain releases of databases into the cache, verified.

The ways to get a release are tried in turn: upstream's archive with its
published checksum, then a build from source with pinned hashes. The way that worked is
recorded with the release and in every result that runs it.`,
		Example: "  dbtester install etcd@v3.6.16\n  dbtester install etcd@v3.4.23 --from /usr/bin/etcd",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.runInstall(cmd.Context(), f, args) },

		ValidArgsFunction: a.completeReleases,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "take the release from here: an executable, an unpacked release, or a mirror as a directory or URL")
	flags.BoolVar(&f.list, "list", false, "list the releases in the cache")
	f.format.register(cmd, usualFormats()...)
	registerCache(flags, &f.cache, "directory of releases")
	return cmd
}

func (a *app) runInstall(ctx context.Context, f installFlags, args []string) error {
	switch {
	case !f.list && f.format.machine():
		return usageError{fmt.Errorf("--format %s is of --list", f.format.word)}
	case f.list && (len(args) > 0 || f.from != ""):
		return usageError{errors.New("--list takes no releases and no --from")}
	case !f.list && len(args) == 0:
		return usageError{errors.New("name releases, such as etcd@v3.6.16, or pass --list")}
	case f.from != "" && len(args) > 1:
		return usageError{errors.New("--from takes exactly one release")}
	}
	cache, err := cacheDir(f.cache)
	if err != nil {
		return err
	}
	in := &install.Installer{Cache: cache, Progress: func(line string) { fmt.Fprintln(a.err, line) }}
	if f.list {
		return a.listReleases(in, f.format)
	}
	// All names are checked before the first install, which may take minutes.
	wanted := make([]wantedRelease, len(args))
	for i, arg := range args {
		if wanted[i], err = a.wantRelease(arg, f.from); err != nil {
			return usageError{err}
		}
	}
	var errs []error
	for _, w := range wanted {
		if err := a.obtain(ctx, in, w, f.from); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// wantedRelease is a release to install and the ways to get it.
type wantedRelease struct {
	name, version string
	recipes       []recipe.Recipe
	server        string // name of the database server itself
	about         string // description of the database, "" if its name suffices
}

// wantRelease reads NAME@VERSION.
func (a *app) wantRelease(arg, from string) (wantedRelease, error) {
	name, version, found := strings.Cut(arg, "@")
	if !found || name == "" || version == "" {
		about := ""
		if db, err := a.registry.Get(arg); err == nil && db.Info.About != "" {
			about = fmt.Sprintf(" (%s is %s)", arg, db.Info.About)
		}
		return wantedRelease{}, fmt.Errorf("%q is not a release: want NAME@VERSION, such as etcd@v3.6.16%s", arg, about)
	}
	db, err := a.registry.Get(name)
	if err != nil {
		words := &cobra.Command{}
		for _, known := range a.registry.Names() {
			words.AddCommand(&cobra.Command{Use: known, Run: func(*cobra.Command, []string) {}})
		}
		return wantedRelease{}, fmt.Errorf("%w%s", err, didYouMean(words, name))
	}
	w := wantedRelease{name: name, version: database.PlainVersion(version), about: db.Info.About}
	if len(db.Info.Tools) > 0 {
		w.server = db.Info.Tools[0]
	}
	if from != "" {
		w.recipes, err = db.RecipesFrom(from, version)
	} else {
		w.recipes, err = db.Recipes(version)
	}
	return w, err
}

// obtain installs one release and prints its directory.
func (a *app) obtain(ctx context.Context, in *install.Installer, w wantedRelease, from string) error {
	if r, err := in.Find(w.name, w.version); err == nil && from != "" {
		return fmt.Errorf("%s %s is in the cache already, from %s: remove %s to install another one", r.Name, r.Version, r.Source, r.Dir)
	}
	r, err := in.Get(ctx, w.name, w.version, w.recipes)
	switch {
	case err != nil && from == "" && ctx.Err() == nil:
		return fmt.Errorf("%w\nto install a release that is already on this machine, pass --from PATH", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(a.out, "%s %s (%s) is in %s\n", r.Name, r.Version, r.Kind, r.Dir)
	if w.about != "" {
		fmt.Fprintf(a.out, "  %s is %s\n", w.name, w.about)
	}
	if _, holds := r.Files[w.server]; w.server != "" && !holds {
		tools := slices.Sorted(maps.Keys(r.Files))
		fmt.Fprintf(a.out, "  it is %s %s, which members run behind %s: the one in dbtester, or the executable that agents get with --%[3]s-exec\n",
			english.WordSeries(tools, "and"), r.Version, w.server)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(a.out, "  note: %s\n", note)
	}
	return nil
}

// listReleases prints the cached releases. The error names unusable ones.
func (a *app) listReleases(in *install.Installer, f format) error {
	releases, err := in.List()
	if len(releases) == 0 && !f.machine() {
		fmt.Fprintf(a.out, "no releases in %s\n", in.Cache)
		return err
	}
	type release struct {
		install.Release
		Directory string `json:"directory"`
		About     string `json:"about,omitempty"`
	}
	var notes []string
	found := []release{}
	l := listing{header: []string{"release", "kind", "size", "obtained", "source"}}
	for _, r := range releases {
		about := ""
		if db, err := a.registry.Get(r.Name); err == nil {
			about = db.Info.About
		}
		if note := fmt.Sprintf("%s is %s", r.Name, about); about != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
		found = append(found, release{r, r.Dir, about})
		size := humanize.Bytes(uint64(r.Bytes))
		if f.word == formatCSV {
			size = strconv.FormatInt(r.Bytes, 10)
		}
		l.rows = append(l.rows, []string{r.Name + "@" + r.Version, r.Kind, size, r.Obtained.Format(time.DateOnly), r.Source})
	}
	l.value = found
	err = errors.Join(err, l.print(a.out, f))
	if !f.machine() {
		for _, note := range notes {
			fmt.Fprintln(a.out, note)
		}
	}
	return err
}
