package database

import (
	"context"
	"io"
	"strconv"
	"time"
)

// Profiler is a driver whose members can profile themselves.
type Profiler interface {
	// CPUProfile has a member profile its processor time over d, in whole seconds of
	// at least one, and writes that to w in pprof's format. It returns when the
	// profile is over; when ctx ends before, there is none. If an option is off that
	// it needs, its error names the option. It is safe for concurrent use, with one
	// profile of a member at a time.
	CPUProfile(ctx context.Context, t Target, member int, d time.Duration, w io.Writer) error
}

// ProfilePath is where a server in Go that serves net/http/pprof answers with a
// CPU profile over d, and when it is over.
func ProfilePath(d time.Duration) string {
	return "/debug/pprof/profile?seconds=" + strconv.FormatInt(int64(d/time.Second), 10)
}
