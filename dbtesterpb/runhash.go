package dbtesterpb

import (
	"crypto/sha256"
	"encoding/hex"
)

// RunHash returns the name of a run in answers, logs and directories: 16 hexadecimal
// digits of the SHA-256 of its id. The id itself opens the session to every verb, so
// only the run and its agents know it.
func RunHash(runID string) string {
	sum := sha256.Sum256([]byte(runID))
	return hex.EncodeToString(sum[:8])
}
