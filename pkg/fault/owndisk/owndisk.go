// Package owndisk gives a member a file system of its own: ext4 in a file, behind a loop
// device. It may be cut, as a power failure cuts it, and filled to its last block, and no other
// file system is touched. It needs root and mkfs.ext4.
package owndisk

import (
	"fmt"
	"strconv"
	"strings"
)

// Disk is a file system in a file. It is data: a later process can unmount what an earlier one
// has mounted.
type Disk struct {
	// Image is the file, and Point where it is mounted. Both are absolute.
	Image string `json:"image"`
	Point string `json:"point"`
}

// Least is the smallest size in bytes: what ext4 and a store need.
const Least = 64 << 20

// Asked returns the size in bytes of the disks that a text such as loop:2GiB asks for, if this
// machine can have them, and 0 for "".
func Asked(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	size, err := Size(text)
	if err == nil {
		err = Check()
	}
	return size, err
}

// Size reads the size of "loop:SIZE" in bytes, such as loop:2GiB.
func Size(text string) (int64, error) {
	size, ok := strings.CutPrefix(text, "loop:")
	number := strings.TrimRight(size, "KMGTiB")
	n, err := strconv.ParseInt(number, 10, 32)
	shift, known := map[string]int{"MiB": 20, "GiB": 30, "TiB": 40}[strings.TrimPrefix(size, number)]
	if !ok || err != nil || !known || n<<shift < Least || n<<shift>>shift != n {
		return 0, fmt.Errorf("a disk must be loop:SIZE with a size of at least 64MiB, such as loop:2GiB, got %q", text)
	}
	return n << shift, nil
}
