package databasetest

import (
	"testing"
	"time"
)

// until repeats an attempt, with pauses, until it has no error. It fails the
// test with the last error if that takes longer than within.
func until(t testing.TB, within, every time.Duration, attempt func() error) {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(every) {
		err := attempt()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v, after %v", err, within)
		}
	}
}
