// Package fileinspect measures directories whose files are in use.
package fileinspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// blockBytes is the unit of st_blocks, regardless of the file system's block size.
const blockBytes = 512

// Sizes cover all regular files below a directory. A file with several names counts once.
type Sizes struct {
	// Apparent is the sum of the file lengths in bytes, including holes.
	Apparent int64
	// Allocated is their space on the device in bytes.
	Allocated int64
	// Files is the number of files.
	Files int
}

// Size measures directories without following symbolic links. A file with several names counts
// once, even across directories. Files that vanish meanwhile are left out; a directory that is
// missing from the start is an error.
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

// inode identifies a file regardless of its name.
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

// skipVanished ignores the error for a file that was deleted after it was listed.
func skipVanished(root bool, err error) error {
	if !root && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
