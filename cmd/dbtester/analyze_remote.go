package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/pkg/remotestorage"
	"github.com/coreos/dbtester/pkg/results"
)

// fetchFlags define how runs at URLs are fetched. Their store may belong to others.
type fetchFlags struct {
	keyFile string
	most    remotestorage.Bounds
}

// register declares the flags.
func (f *fetchFlags) register(flags *pflag.FlagSet, keyFile string) {
	flags.StringVar(&f.keyFile, "key-file", "", keyFile)
	flags.IntVar(&f.most.Objects, "max-objects", 100_000, "largest number of objects of a run at a URL")
	flags.Int64Var(&f.most.Bytes, "max-bytes", 32<<30, "largest size in bytes of a run at a URL")
}

// fetched holds copies of remote runs in a temporary directory.
type fetched struct {
	dir string
	// runs are the arguments of analyze, with addresses replaced by the copies.
	runs []string
	// remote means that at least one argument was an address.
	remote bool
}

// fetchRuns copies every run given by address. The caller removes the copies, even after an error.
func (s streams) fetchRuns(ctx context.Context, from fetchFlags, runs []string) (*fetched, error) {
	f := &fetched{runs: slices.Clone(runs)}
	for i, run := range runs {
		if !strings.Contains(run, "://") {
			continue
		}
		if err := remotestorage.Check(run); err != nil {
			return f, usageError{err}
		}
		dir, err := f.directory()
		if err != nil {
			return f, err
		}
		f.remote = true
		// Reports name runs by the last element of their path.
		at := strings.TrimRight(run, "/")
		f.runs[i] = filepath.Join(dir, fmt.Sprint(i), path.Base(path.Dir(at)), path.Base(at))
		if err := s.fetchRun(ctx, from, run, f.runs[i]); err != nil {
			return f, withInterrupt(ctx, err)
		}
	}
	return f, nil
}

// directory returns the temporary directory, and creates it if necessary.
func (f *fetched) directory() (string, error) {
	if f.dir != "" {
		return f.dir, nil
	}
	dir, err := os.MkdirTemp("", "dbtester-analyze-")
	if err != nil {
		return "", fmt.Errorf("make a directory for remote records: %w", err)
	}
	f.dir = dir
	return dir, nil
}

// remove removes the copies.
func (f *fetched) remove() error {
	if f.dir == "" {
		return nil
	}
	return os.RemoveAll(f.dir)
}

// fetchRun copies one run.
func (s streams) fetchRun(ctx context.Context, from fetchFlags, address, dir string) (err error) {
	store, err := remotestorage.Open(ctx, address, remotestorage.Options{KeyFile: from.keyFile})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := checkRemoteRun(ctx, store, address); err != nil {
		return err
	}
	sum, err := remotestorage.Download(ctx, store, dir, from.most, func(p remotestorage.Progress) {
		fmt.Fprintln(s.err, transferLine("download", p))
	})
	if err != nil {
		return fmt.Errorf("%s: %w", address, offerBounds(err))
	}
	fmt.Fprintf(s.err, "downloaded %s: %s (%s)\n", address, english.Plural(sum.Sent, "file", ""), humanize.Bytes(uint64(sum.SentBytes)))
	return nil
}

// offerBounds names the flags that raise bounds, if bounds caused err.
func offerBounds(err error) error {
	if !errors.Is(err, remotestorage.ErrBounds) {
		return err
	}
	return fmt.Errorf("%w (--max-objects and --max-bytes allow larger runs)", err)
}

// mostNamed bounds how many runs below an address an error names.
const mostNamed = 10

// checkRemoteRun fails if address has no manifest, which uploads send last. The error names runs
// below the address.
func checkRemoteRun(ctx context.Context, store remotestorage.Store, address string) error {
	objects, err := store.List(ctx, "")
	if err != nil {
		return err
	}
	var below []string
	for _, o := range objects {
		switch dir, name := path.Split(o.Name); {
		case o.Name == results.FileManifest:
			return nil
		case name == results.FileManifest:
			below = append(below, joinURL(address, strings.TrimRight(dir, "/")))
		}
	}
	switch {
	case len(below) > mostNamed:
		below = append(below[:mostNamed], fmt.Sprintf("%d more", len(below)-mostNamed))
		fallthrough
	case len(below) > 0:
		return usageError{fmt.Errorf("%s is not a result folder: it has no %s; the result folders below it are %s",
			address, results.FileManifest, english.WordSeries(below, "and"))}
	case len(objects) > 0:
		return usageError{fmt.Errorf("%s is not a complete result folder: it has %s, but no %s, which an upload sends last",
			address, english.Plural(len(objects), "file", ""), results.FileManifest)}
	default:
		return usageError{fmt.Errorf("%s is not a result folder: it has no files", address)}
	}
}

// reportStore is the store to which a report is sent; its zero value sends nothing.
type reportStore struct {
	address string
	store   *remotestorage.Bucket
}

// openReportStore opens the store at an address before the report is made, so a wrong address fails
// early. It opens nothing for "".
func openReportStore(ctx context.Context, address string, o remotestorage.Options) (reportStore, error) {
	if address == "" {
		return reportStore{}, nil
	}
	if err := remotestorage.Check(address); err != nil {
		return reportStore{}, usageError{err}
	}
	store, err := remotestorage.Open(ctx, address, o)
	if err != nil {
		return reportStore{}, withInterrupt(ctx, offerCreate(err))
	}
	return reportStore{address, store}, nil
}

func (r reportStore) close() error {
	if r.store == nil {
		return nil
	}
	return r.store.Close()
}

// sendReport copies the report files to a store and prints their location. Paths in the README and
// the page are relative to the report folder, and so are the names in the store.
func (s streams) sendReport(ctx context.Context, to reportStore, report *analyze.Report) error {
	if to.store == nil {
		return nil
	}
	files, err := reportFiles(report)
	if err != nil {
		return err
	}
	sum, err := remotestorage.UploadFiles(ctx, to.store, files, func(p remotestorage.Progress) {
		fmt.Fprintln(s.err, transferLine("upload", p))
	})
	if err != nil {
		return withInterrupt(ctx, fmt.Errorf("%w: %d of %s are in %s; the same command sends the others", err,
			sum.Sent+sum.Present, english.Plural(sum.Files, "file", ""), to.address))
	}
	fmt.Fprintf(s.out, "uploaded the report to %s: %s (%s) sent, %d already present\n", to.address,
		english.Plural(sum.Sent, "file", ""), humanize.Bytes(uint64(sum.SentBytes)), sum.Present)
	kinds := map[string]int{}
	for _, f := range files {
		kind, _, _ := strings.Cut(remotestorage.TypeOf(f.Name), ";")
		kinds[kind]++
		if name := path.Base(f.Name); name == "README.md" || name == "report.html" {
			fmt.Fprintf(s.out, "  %s\n", joinURL(to.address, f.Name))
		}
	}
	fmt.Fprintf(s.out, "  %s\n", countsOf(kinds))
	return nil
}

// countsOf lists counts by name, the largest first.
func countsOf(kinds map[string]int) string {
	var names, parts []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		if kinds[x] != kinds[y] {
			return kinds[y] - kinds[x]
		}
		return strings.Compare(x, y)
	})
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d %s", kinds[name], name))
	}
	return strings.Join(parts, ", ")
}

// reportFiles names the objects for the report files by their path in the report folder. A file
// that a classic experiment puts elsewhere has only its own name.
func reportFiles(report *analyze.Report) ([]remotestorage.File, error) {
	var files []remotestorage.File
	seen := map[string]string{}
	for _, file := range report.Files {
		name, err := filepath.Rel(report.Dir, file)
		if err != nil || !filepath.IsLocal(name) {
			name = filepath.Base(file)
		}
		name = filepath.ToSlash(name)
		if other := seen[name]; other != "" && other != file {
			return nil, fmt.Errorf("upload the report: %s and %s would both be %s", other, file, name)
		}
		if seen[name] == "" {
			files = append(files, remotestorage.File{Path: file, Name: name})
		}
		seen[name] = file
	}
	return files, nil
}
