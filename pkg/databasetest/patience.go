package databasetest

import "time"

const (
	// Patience is how long anything may take on a busy machine: only a hang takes longer.
	Patience = 5 * time.Minute
	// opWithin bounds an operation that must succeed.
	opWithin = Patience
	// recoverWithin is the time in which a cluster must accept writes again.
	recoverWithin = Patience
)
