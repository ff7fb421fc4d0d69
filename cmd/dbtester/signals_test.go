package main

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestSignalsTogether: two signals at nearly the same time are one, a later one is another.
func TestSignalsTogether(t *testing.T) {
	for _, test := range []struct {
		name  string
		after []time.Duration // each signal after the one before
		again bool
	}{
		{"one", []time.Duration{0}, false},
		{"to the process and its group", []time.Duration{0, time.Millisecond}, false},
		{"three together", []time.Duration{0, time.Millisecond, 190 * time.Millisecond}, false},
		{"by a person", []time.Duration{0, 300 * time.Millisecond}, true},
		{"together, and later by a person", []time.Duration{0, time.Millisecond, time.Second}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals, done := make(chan os.Signal, 2), make(chan struct{})
				var first, again int
				go watchSignals(signals, done, func(os.Signal) { first++ }, func() { again++ })
				for _, d := range test.after {
					time.Sleep(d)
					signals <- syscall.SIGTERM
					synctest.Wait()
				}
				close(done)
				synctest.Wait()
				if first != 1 || (again == 1) != test.again {
					t.Errorf("first %d times, again %d times, want once, and again: %v", first, again, test.again)
				}
			})
		})
	}
}
