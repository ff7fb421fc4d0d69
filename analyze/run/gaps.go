package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/coreos/dbtester/pkg/results"
)

// Gaps are missing and broken records.
type Gaps struct {
	List []string
	// problems maps the name of a record file in the tag folder to its problem.
	problems map[string]string
}

// Add records a missing or broken record.
func (g *Gaps) Add(format string, args ...any) {
	g.List = append(g.List, fmt.Sprintf(format, args...))
}

// broken records a problem with a record file. Every number missing for that reason then quotes it.
func (g *Gaps) broken(file, problem string) {
	g.Add("%s", problem)
	if g.problems == nil {
		g.problems = map[string]string{}
	}
	g.problems[file] = problem
}

// join appends gaps found in another part of the records.
func (g *Gaps) join(part Gaps) {
	g.List = append(g.List, part.List...)
	for file, problem := range part.problems {
		if g.problems == nil {
			g.problems = map[string]string{}
		}
		g.problems[file] = problem
	}
}

// why returns the problem with the file, or otherwise if it has no problem.
func (g *Gaps) why(file, otherwise string) string { return cmp.Or(g.problems[file], otherwise) }

// read reads one record file and turns an error into a gap.
func read[T any](g *Gaps, path string, reader func(string) (T, error)) T {
	rows, err := reader(path)
	if err != nil {
		g.broken(filepath.Base(path), problem(path, err))
	}
	return rows
}

// problem describes a file error without the folder, because folders may have been moved.
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

// Cause strips the path from an error.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
