package abilities

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// otherFiles bounds the number of open files in a run, without connections from abilities.
const otherFiles = 500

// OpenFiles returns the number of files that this process may have open, 0 if not known.
func OpenFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Cur
}

// RoomFor returns an error if conns and otherFiles exceed the limit on open files; 0 is not known.
// what names the connections.
func RoomFor(what string, conns int, limit uint64) error {
	if needed := uint64(conns) + otherFiles; conns > 0 && limit > 0 && needed > limit {
		return fmt.Errorf("%s: the limit of open files must be at least %d, it is %d", what, needed, limit)
	}
	return nil
}
