// Package owndisk gives a member its own file system, which may be filled to its last block. It is
// ext4 in a file, behind a loop device, which needs root and mkfs.ext4 and may also be cut, as a
// power failure cuts it; or one that the user has mounted for it. No other file system is touched.
package owndisk

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Disk describes the file system of a member. It is data: a later process can undo the changes of
// an earlier process.
type Disk struct {
	// Image is the file that holds the file system, and Point where it is mounted. Both are
	// absolute.
	Image string `json:"image,omitempty"`
	Point string `json:"point"`
	// Dir is where the user has mounted the file system; "" if it is in a file. Point is then the
	// member's folder in it, see [In].
	Dir string `json:"dir,omitempty"`
}

// memberDir is the member's folder on a disk the user has mounted. Nothing is ever written outside
// it.
const memberDir = "dbtester-member"

// In returns the disk for a member whose folder is on the file system mounted at dir.
func In(dir string) Disk { return Disk{Dir: dir, Point: filepath.Join(dir, memberDir)} }

// errKept reports that a disk the user has mounted cannot be cut.
var errKept = errors.New("a disk that was mounted before the agent started cannot be cut, since nobody would mount it again after an agent that was killed")

// Least is the smallest size in bytes with room for ext4 and a store.
const Least = 64 << 20

// Own describes the disk each member has of its own. The zero value means no such disk.
type Own struct {
	// Bytes is the size of a file system in a file.
	Bytes int64
	// Dir is where the user has mounted a file system for the member, see [CheckDir].
	Dir string
}

// Asked parses a text such as loop:2GiB or /mnt/disk, and returns an error if this machine cannot
// have such disks; "" means no directory. [CheckDir] decides whether a directory may be filled.
func Asked(text string) (own Own, err error) {
	switch {
	case text == "":
		return Own{}, nil
	case !strings.Contains(text, ":") || strings.ContainsRune(text, filepath.Separator):
		own.Dir, err = filepath.Abs(text)
		if err == nil {
			own.Dir, err = filepath.EvalSymlinks(own.Dir)
		}
		if err != nil {
			return Own{}, fmt.Errorf("a disk must be loop:SIZE, such as loop:2GiB, or a directory, got %q: %w", text, err)
		}
		return own, nil
	}
	if own.Bytes, err = Size(text); err == nil {
		err = Check()
	}
	return own, err
}

// Size parses the size in "loop:SIZE" in bytes, such as loop:2GiB.
func Size(text string) (int64, error) {
	size, ok := strings.CutPrefix(text, "loop:")
	number := strings.TrimRight(size, "KMGTiB")
	n, err := strconv.ParseInt(number, 10, 32)
	shift, known := map[string]int{"MiB": 20, "GiB": 30, "TiB": 40}[strings.TrimPrefix(size, number)]
	if !ok || err != nil || !known || n<<shift < Least || n<<shift>>shift != n {
		return 0, fmt.Errorf("a disk must be a directory, or loop:SIZE with a size of at least 64MiB, such as loop:2GiB, got %q", text)
	}
	return n << shift, nil
}
