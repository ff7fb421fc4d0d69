// Package slowtest decides which slow tests run: make test-fast leaves out those of seconds, and
// only make test-long runs what takes minutes.
package slowtest

import (
	"os"
	"testing"
)

const (
	// LongEnv, if set, makes tests as long as in make test-long.
	LongEnv = "DBTESTER_LONG"
	// FastEnv, if set, leaves out what takes seconds, as in make test-fast.
	FastEnv = "DBTESTER_FAST"
)

// Long reports whether what takes minutes runs too.
func Long() bool { return os.Getenv(LongEnv) != "" }

// Fast reports whether what takes seconds is left out.
func Fast() bool { return os.Getenv(FastEnv) != "" }

// Skip skips a test that takes seconds if [Fast].
func Skip(t testing.TB) {
	t.Helper()
	if Fast() {
		t.Skip(FastEnv + ": takes seconds")
	}
}
