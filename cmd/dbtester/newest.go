package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/pkg/results"
)

// newestWord selects the newest run wherever commands accept a run, and LAST~N the Nth run before
// it. A folder with that name is ./LAST.
const newestWord = "LAST"

// defaultResults is the folder for runs unless an experiment or --results names another one.
const defaultResults = "results"

// registerNewest adds the flag for the folder in which LAST is searched for.
func registerNewest(flags *pflag.FlagSet, below *string) {
	flags.StringVar(below, "results", "", "folder in which LAST finds the newest run, and LAST~1 the one before it (default: "+defaultResults+")")
}

// namedRuns replaces LAST and LAST~N among runs with their folders, and prints these folders.
// Other arguments stay unchanged.
func (s streams) namedRuns(runs []string, below string) ([]string, error) {
	named := make([]string, len(runs))
	for i, run := range runs {
		found, err := namedRun(run, below)
		if err != nil {
			return nil, usageError{err}
		}
		if named[i] = found; found != run {
			fmt.Fprintf(s.err, "%s is %s\n", run, relative(found))
		}
	}
	return named, nil
}

// namedFolder opens the folder of the only given run.
func (s streams) namedFolder(runs []string, below string) (*results.Folder, error) {
	runs, err := s.namedRuns(runs, below)
	if err != nil {
		return nil, err
	}
	folder, err := results.Open(runs[0])
	if err != nil {
		return nil, usageError{err}
	}
	return folder, nil
}

// namedRun returns the folder for LAST or LAST~N below a results folder, and any other argument
// unchanged.
func namedRun(run, below string) (string, error) {
	n, is, err := newestNumber(run)
	if err != nil || !is {
		return run, err
	}
	below = filepath.Clean(cmp.Or(below, defaultResults))
	found := newestRuns(below)
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("%s: no run below %s/ (--results names another folder)", run, below)
	case n >= len(found):
		return "", fmt.Errorf("%s: only %s below %s/", run, english.Plural(len(found), "run is", "runs are"), below)
	}
	return found[n], nil
}

// newestNumber reads LAST as 0 and LAST~N as N; is is false for other words.
func newestNumber(word string) (n int, is bool, err error) {
	if word == newestWord {
		return 0, true, nil
	}
	number, is := strings.CutPrefix(word, newestWord+"~")
	if !is {
		return 0, false, nil
	}
	if n, err = strconv.Atoi(number); err != nil || n < 0 {
		return 0, false, fmt.Errorf("%s: a number must follow %s~, such as %s~1 for the run before the newest", word, newestWord, newestWord)
	}
	return n, true, nil
}

// newestRuns returns the runs below a folder, the newest first.
func newestRuns(below string) []string {
	runs := analyze.RunsBelow(below)
	made := map[string]time.Time{}
	for _, run := range runs {
		made[run] = timeOf(run)
	}
	slices.SortFunc(runs, func(a, b string) int {
		x, y := filepath.Base(a), filepath.Base(b)
		return cmp.Or(made[b].Compare(made[a]), cmp.Compare(len(y), len(x)), cmp.Compare(y, x), cmp.Compare(b, a)) // -10 is newer than -9
	})
	return runs
}

// timeOf returns when a run was made: the time in its folder's name, or in its manifest if the
// folder has another name. A run without either is older than all others.
func timeOf(run string) time.Time {
	const layout = "20060102T150405Z"
	name := filepath.Base(run)
	if t, err := time.Parse(layout, name[:min(len(name), len(layout))]); err == nil {
		return t
	}
	folder, err := results.Open(run)
	if err != nil {
		return time.Time{}
	}
	m, err := folder.Manifest()
	if err != nil {
		return time.Time{}
	}
	return m.Started
}

// manifestsOf returns the manifests in folders. It leaves out unreadable ones: the report has their
// errors.
func manifestsOf(folders []string) (all []*results.Manifest) {
	for _, dir := range folders {
		folder, err := results.Open(dir)
		if err != nil {
			continue
		}
		if m, err := folder.Manifest(); err == nil {
			all = append(all, m)
		}
	}
	return all
}

// checkRuns returns an error if a folder is no run.
func checkRuns(folders []string) error {
	for _, run := range folders {
		if _, err := os.Stat(filepath.Join(run, results.FileManifest)); err != nil {
			return usageError{fmt.Errorf("%s is not a result folder: %w%s", run, err, runsInside(run))}
		}
	}
	return nil
}

// runsInside names the newest result folder below a folder, or "". Folders are named by title and
// time.
func runsInside(dir string) string {
	var runs []string
	for _, pattern := range []string{"*", "*/*"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern, results.FileManifest)) // only patterns fail
		runs = append(runs, found...)
	}
	if len(runs) == 0 {
		return ""
	}
	newest := slices.MaxFunc(runs, func(a, b string) int {
		return strings.Compare(filepath.Base(filepath.Dir(a)), filepath.Base(filepath.Dir(b)))
	})
	return fmt.Sprintf("; %s inside, the newest is %s", english.Plural(len(runs), "result folder is", "result folders are"), filepath.Dir(newest))
}
