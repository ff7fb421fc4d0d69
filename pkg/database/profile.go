package database

import (
	"context"
	"io"
	"strconv"
	"time"
)

// Profiler is a driver whose members can profile themselves.
type Profiler interface {
	// CPUProfile makes a member profile its CPU time over d, a positive number of whole seconds,
	// and writes the profile to w in pprof format. It returns when the profile is complete; if ctx
	// ends earlier, it writes no profile. If a required option is off, the error names the option.
	// It is safe for concurrent use, one profile at a time for each member.
	CPUProfile(ctx context.Context, t Target, member int, d time.Duration, w io.Writer) error
}

// ProfilePath returns the path at which net/http/pprof returns a CPU profile over d. The server
// answers when d is over.
func ProfilePath(d time.Duration) string {
	return "/debug/pprof/profile?seconds=" + strconv.FormatInt(int64(d/time.Second), 10)
}
