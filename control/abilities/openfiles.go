package abilities

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// otherFiles is an upper bound on the files that a run has open, without its abilities'
// connections.
const otherFiles = 500

// OpenFiles returns how many files this process may have open, 0 if not known.
func OpenFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Cur
}

// RoomFor returns an error if an ability needs more connections than a limit on open files allows;
// 0 is not known. The error names the connections.
func RoomFor(what string, conns int, limit uint64) error {
	if needed := uint64(conns) + otherFiles; conns > 0 && limit > 0 && needed > limit {
		return fmt.Errorf("%s: the limit of open files must be at least %d, it is %d", what, needed, limit)
	}
	return nil
}
