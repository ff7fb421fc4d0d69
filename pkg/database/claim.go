package database

import "context"

// ClaimKey is the key below a prefix whose value names the run that uses the prefix. No load
// writes it, because the keys of loads are numbers.
const ClaimKey = "dbtester-claim"

// MaxClaim is the largest claim, in bytes.
const MaxClaim = 16 << 10

// Claimer is a driver that does not store the claim as the value of [ClaimKey], because its clients
// create more than keys below a prefix.
type Claimer interface {
	// Claim returns the claim of t.Prefix and its version, which is [NoVersion] without a claim. It
	// writes nothing.
	Claim(ctx context.Context, t Target) (text []byte, version int64, err error)
	// SetClaim replaces a claim that has that version. If it has another, the error class is
	// [ClassConflict].
	SetClaim(ctx context.Context, t Target, text []byte, version int64) error
	// RemoveClaim removes the claim, and the prefix itself if nothing else is below it.
	RemoveClaim(ctx context.Context, t Target) error
}
