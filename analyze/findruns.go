package analyze

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
)

// deepest is how many levels below a folder are searched for runs: results/TITLE/TIME and two more.
const deepest = 4

// RunsBelow returns the result folders below a folder, ordered by path. It searches at most four
// levels, and skips the insides of runs, hidden folders, symbolic links and folders that it may not
// read.
func RunsBelow(dir string) (runs []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // no function in it returns an error
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // left out
		}
		inside, err := filepath.Rel(dir, path)
		switch {
		case err != nil, path != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case inside == ".":
			return nil
		}
		if info, err := os.Stat(filepath.Join(path, results.FileManifest)); err == nil && info.Mode().IsRegular() {
			runs = append(runs, path)
			return fs.SkipDir
		}
		if strings.Count(filepath.ToSlash(inside), "/")+1 >= deepest {
			return fs.SkipDir
		}
		return nil
	})
	return runs
}
