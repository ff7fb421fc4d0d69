package sysmetrics

import (
	"context"
	"errors"
	"time"
)

// FsyncP50 returns the median of up to 50 appends of 4 KiB with fdatasync to a
// temporary file in dir, which it removes. It takes about a second at most.
func FsyncP50(ctx context.Context, dir string) (time.Duration, error) {
	return 0, errors.ErrUnsupported
}
