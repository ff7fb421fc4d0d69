package sysmetrics

import (
	"os"
	"strconv"
)

// openFiles counts the open file descriptors of a process. Since Linux 6.2 this number is the
// directory size. In older versions the size is 0, and the entries are listed.
func (f *files) openFiles(pid int) (int64, error) {
	info, err := os.Stat(f.path(strconv.Itoa(pid), "fd"))
	if err != nil {
		return 0, err
	}
	if n := info.Size(); n > 0 && f.root == "/proc" {
		return n, nil
	}
	fds, err := f.numbers(strconv.Itoa(pid), "fd")
	return int64(len(fds)), err
}
