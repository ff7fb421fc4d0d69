// Package fileinspect measures directories of files that are in use.
package fileinspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// blockBytes is the unit of st_blocks, whatever the file system's own block is.
const blockBytes = 512

// Sizes are of all regular files below a directory, each counted once however
// many names it has.
type Sizes struct {
	// Apparent is the sum of the files' lengths in bytes, holes included.
	Apparent int64
	// Allocated is the space that they take on the device, in bytes.
	Allocated int64
	// Files is how many there are.
	Files int
}

// Size measures directories without following symbolic links. A file that is
// named twice, also below two of the directories, counts once. Files that vanish
// meanwhile are left out; a directory that is missing from the start is an error.
func Size(dirs ...string) (Sizes, error) {
	var sizes Sizes
	seen := map[inode]bool{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return skipVanished(path == dir, err)
			}
			if !entry.Type().IsRegular() {
				return nil
			}
			info, err := entry.Info()
			if err != nil {
				return skipVanished(false, err)
			}
			sizes.add(info, seen)
			return nil
		})
		if err != nil {
			return Sizes{}, fmt.Errorf("measure %s: %w", dir, err)
		}
	}
	return sizes, nil
}

// inode names a file, whatever its names.
type inode struct{ device, number uint64 }

func (s *Sizes) add(info fs.FileInfo, seen map[inode]bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	id := inode{device: uint64(stat.Dev), number: stat.Ino}
	if seen[id] {
		return
	}
	seen[id] = true
	s.Apparent += stat.Size
	s.Allocated += stat.Blocks * blockBytes
	s.Files++
}

// skipVanished drops the error of a file that was deleted between being listed
// and being looked at.
func skipVanished(root bool, err error) error {
	if !root && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
