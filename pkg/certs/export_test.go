package certs

import "time"

// OpenAt is [Open] with another clock.
func OpenAt(files Files, role Role, now func() time.Time) (*Source, error) {
	return open(files, role, nil, now)
}
