package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/remotestorage"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/sidecar"
)

// classicNames maps the control files that the classic tool uploaded, by their names in the tag
// folder, to their names in an experiment file. It includes the manifest next to the summary.
func classicNames(export map[string]string) map[string]string {
	names := map[string]string{results.FileControlLog: results.FileControlLog}
	for _, name := range []string{
		results.FileClient, results.FileClientInterpolated, results.FileClassicTimeseries, results.FileClassicAll,
		results.FileClassicPercentile, results.FileClassicSummary, results.FileClassicByKey, results.FileDisk,
	} {
		names[name] = name
		if path := export[name]; path != "" {
			names[name] = filepath.Base(path)
		}
	}
	names[sidecar.Path(results.FileClassicSummary)] = sidecar.Path(names[results.FileClassicSummary])
	return names
}

// ofMember recognizes files from one member: samples and logs.
var ofMember = regexp.MustCompile(`^[0-9]+-.+\.(csv|log|log\.gz)$`)

// classicFiles names the files of a classic run as the classic tool named its uploads: TAG-FILE,
// and TAG-N-FILE for member N. It returns no files for other runs.
func classicFiles(run string) (files []remotestorage.File, err error) {
	folder, err := results.Open(run)
	if err != nil {
		return nil, err
	}
	m, err := folder.Manifest()
	if err != nil {
		return nil, err
	}
	var e struct {
		Classic bool              `json:"classic"`
		Export  map[string]string `json:"export"`
	}
	if err := json.Unmarshal(m.Config, &e); err != nil || !e.Classic {
		return nil, nil // the classic tool could not read such a run
	}
	root, err := os.OpenRoot(run)
	if err != nil {
		return nil, fmt.Errorf("list the classic files: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	names := classicNames(e.Export)
	for _, db := range m.Databases {
		for _, dir := range []string{"", results.DirLogs} {
			entries, err := fs.ReadDir(root.FS(), path.Join(db.Tag, dir)) // follows no link out of the run
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("list the files of %s: %w", db.Tag, err)
			}
			for _, entry := range entries {
				name := names[entry.Name()]
				if ofMember.MatchString(entry.Name()) {
					name = entry.Name()
				}
				if name != "" && entry.Type().IsRegular() {
					files = append(files, remotestorage.File{Path: filepath.Join(run, db.Tag, dir, entry.Name()), Name: db.Tag + "-" + name})
				}
			}
		}
	}
	return files, nil
}

// fetchClassic copies inputs for runs without any on this machine from the bucket in the experiment
// file, as uploaded by control. Runs without files there do not change: a report names the missing
// files.
func (s streams) fetchClassic(ctx context.Context, from fetchFlags, e *config.Experiment, c *analyze.Classic, to *fetched) error {
	var absent []*analyze.ClassicRun
	for i := range c.Runs {
		if !anyExists(c.Runs[i].ClassicFiles) {
			absent = append(absent, &c.Runs[i])
		}
	}
	if e.Upload == nil || len(absent) == 0 {
		return nil
	}
	if from.keyFile == "" && e.Upload.KeyFile != "" && os.Getenv("STORAGE_EMULATOR_HOST") == "" {
		from.keyFile = e.Upload.KeyFile
	}
	store, err := remotestorage.Open(ctx, e.Upload.URL, remotestorage.Options{KeyFile: from.keyFile})
	if err != nil {
		fmt.Fprintf(s.err, "dbtester: the inputs of %s are not on this machine, and cannot be fetched: %v\n", absent[0].Record.Tag, err)
		return withInterrupt(ctx, nil)
	}
	for _, run := range absent {
		err = errors.Join(err, s.fetchInputs(ctx, store, from.most, e, run, to))
	}
	return errors.Join(err, store.Close())
}

// fetchInputs copies the inputs for one run and makes the run read the copies.
func (s streams) fetchInputs(ctx context.Context, store remotestorage.Store, most remotestorage.Bounds, e *config.Experiment, run *analyze.ClassicRun, to *fetched) error {
	dir, err := to.directory()
	if err != nil {
		return err
	}
	tag, names := run.Record.Tag, classicNames(e.Export)
	var files []remotestorage.File
	add := func(name string) string {
		file := remotestorage.File{Path: filepath.Join(dir, tag+"-"+name), Name: tag + "-" + name}
		files = append(files, file)
		return file.Path
	}
	in := analyze.ClassicFiles{Record: run.Record, Files: map[string]string{}}
	for name := range run.Files {
		in.Files[name] = add(names[name])
	}
	for i := range run.Servers {
		in.Servers = append(in.Servers, add(fmt.Sprintf("%d-%s", i+1, results.FileServerInterpolated)))
	}
	add(names[sidecar.Path(results.FileClassicSummary)])
	sum, err := remotestorage.DownloadFiles(ctx, store, files, most, func(p remotestorage.Progress) {
		fmt.Fprintln(s.err, transferLine("download", p))
	})
	if err != nil {
		return withInterrupt(ctx, fmt.Errorf("fetch the inputs of %s from %s: %w", tag, e.Upload.URL, offerBounds(err)))
	}
	if sum.Sent == 0 {
		fmt.Fprintf(s.err, "dbtester: the inputs of %s are neither on this machine nor in %s\n", tag, e.Upload.URL)
		return nil
	}
	fmt.Fprintf(s.err, "downloaded the inputs of %s from %s: %s\n", tag, e.Upload.URL, english.Plural(sum.Sent, "file", ""))
	run.ClassicFiles = in
	return nil
}

// anyExists reports whether a classic run has any input on this machine.
func anyExists(in analyze.ClassicFiles) bool {
	for _, path := range in.Files {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	for _, path := range in.Servers {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}
