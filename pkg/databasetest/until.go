package databasetest

import (
	"testing"
	"time"
)

// Until repeats an attempt after pauses, until it has no error. It fails the test with the last
// error if that takes longer than within.
func Until(t testing.TB, within, every time.Duration, attempt func() error) {
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

// holds polls a condition with pauses, and reports whether it held within a time.
func holds(within, every time.Duration, condition func() bool) bool {
	for deadline := time.Now().Add(within); !condition(); time.Sleep(every) {
		if !time.Now().Before(deadline) {
			return false
		}
	}
	return true
}

// settled reads again and again, with pauses, until two answers in a row are equal, and returns the
// last one. It fails the test with why if that takes longer than within.
func settled[T any](t testing.TB, within, every time.Duration, why string, read func() T, equal func(a, b T) bool) T {
	t.Helper()
	last := read()
	for deadline := time.Now().Add(within); ; {
		time.Sleep(every)
		now := read()
		if equal(last, now) {
			return now
		}
		if last = now; time.Now().After(deadline) {
			t.Fatalf("after %v: %s", within, why)
		}
	}
}
