package databasetest

import (
	"os"
)

// Part selects cases of the suite, which run instead of the whole suite unless [Long].
type Part int

const (
	// Whole has every case. It is the zero value.
	Whole Part = iota
	// Clients has the cases that depend on client code: for another transport.
	Clients
	// Servers has the cases that depend on the member release: for another release.
	Servers
)

// LongEnv, if set, makes tests as long as in make test-long.
const LongEnv = "DBTESTER_LONG"

// Long reports whether suites run whole, and over every transport.
func Long() bool { return os.Getenv(LongEnv) != "" }
