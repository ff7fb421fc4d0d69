package profile

import (
	"testing"
	"time"
)

// Times are not written as powers of 10.
func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{1234 * time.Second: "1234 s", 99996 * time.Millisecond: "100 s", 12345678 * time.Second: "12345678 s", 20 * time.Millisecond: "0.02 s"} {
		if got := seconds(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
