package certs

import (
	"log/slog"
	"time"
)

// OpenAt is [Open] with another clock.
func OpenAt(files Files, role Role, log *slog.Logger, now func() time.Time) (*Source, error) {
	return open(files, role, log, now)
}
