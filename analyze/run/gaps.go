package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/coreos/dbtester/pkg/results"
)

// Gaps are the missing and broken records of a run.
type Gaps struct {
	List []string
	// problems are the gaps of record files by their names in a tag's folder.
	problems map[string]string
}

// Add records that something is missing or broken.
func (g *Gaps) Add(format string, args ...any) {
	g.List = append(g.List, fmt.Sprintf(format, args...))
}

// broken records a problem of a record file, which is then the reason for every
// number that is missing because of it.
func (g *Gaps) broken(file, problem string) {
	g.Add("%s", problem)
	if g.problems == nil {
		g.problems = map[string]string{}
	}
	g.problems[file] = problem
}

// why returns the problem of a file, or otherwise if the file has none.
func (g *Gaps) why(file, otherwise string) string { return cmp.Or(g.problems[file], otherwise) }

// read reads one record file. Its error becomes a gap.
func read[T any](g *Gaps, path string, reader func(string) (T, error)) T {
	rows, err := reader(path)
	if err != nil {
		g.broken(filepath.Base(path), problem(path, err))
	}
	return rows
}

// problem describes an error of a file by its name alone, because its folder may
// have been moved.
func problem(path string, err error) string {
	name := filepath.Base(path)
	var syntax *results.SyntaxError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return name + " is missing"
	case errors.As(err, &syntax):
		return fmt.Sprintf("%s is unreadable from line %d on: %s", name, syntax.Line, syntax.Reason)
	case errors.Is(err, results.ErrTruncated):
		return name + ": " + results.ErrTruncated.Error()
	default:
		return fmt.Sprintf("%s cannot be read: %v", name, Cause(err))
	}
}

// Cause returns an error without the path that it names.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
