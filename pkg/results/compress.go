package results

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/pkg/files/linefile"
)

// CompressFrom is the size in bytes from which [Compress] compresses a file: samples from a machine
// over some hours. Shorter runs keep plain text, which any program reads.
const CompressFrom = 8 << 20

// Compressible reports whether [Compress] may compress a file, by its slash-separated path below a
// tag folder: a table that grows with time and with the number of members or generators. Files that
// a database has only once, such as intervals.csv, stay plain.
func Compressible(file string) bool {
	name := file[strings.LastIndexByte(file, '/')+1:]
	if _, of, numbered := strings.Cut(name, "-"); numbered && slices.Contains([]string{FileServer, FileDatabase}, of) {
		return true
	}
	return slices.Contains([]string{FileMembers, FileClock, FileClient}, name)
}

// Compress compresses the compressible files in a tag folder with at least atLeast bytes, on all
// processors. It returns their paths before, slash-separated and in order; their names now end in
// [linefile.Compressed]. Record readers find them under both names. A file that cannot be
// compressed stays as it was, and is an error.
func Compress(dir string, atLeast int64) (files []string, err error) {
	var found []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		file, err := filepath.Rel(dir, path)
		if file = filepath.ToSlash(file); Compressible(file) {
			found = append(found, file)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	done, errs := make([]bool, len(found)), make([]error, len(found))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range found {
		group.Go(func() error {
			done[i], errs[i] = linefile.Compress(filepath.Join(dir, filepath.FromSlash(file)), atLeast)
			return nil
		})
	}
	err = errors.Join(group.Wait(), errors.Join(errs...))
	for i, file := range found {
		if done[i] {
			files = append(files, file)
		}
	}
	return files, err
}
