package cetcd

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Flags and value come back as they were, in the documented size.
func TestValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flags := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()).Draw(t, "flags")
		want := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "value")
		stored, value := encodeValue(flags, len(want))
		copy(value, want)
		gotFlags, got, ok := decodeValue(stored)
		if !ok || gotFlags != flags || !bytes.Equal(got, want) {
			t.Fatalf("%d, %q became %d, %q, %v", flags, want, gotFlags, got, ok)
		}
		if extra := len(stored) - len(want); extra > 10 || (flags == 0 && extra != 1) {
			t.Fatalf("flags %d take %d bytes", flags, extra)
		}
	})
	for _, foreign := range []string{"", "\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		if flags, value, ok := decodeValue([]byte(foreign)); ok {
			t.Errorf("%q reads as %d, %q", foreign, flags, value)
		}
	}
}

func TestSpan(t *testing.T) {
	tests := []struct{ prefix, key, end string }{
		{"", "\x00", "\x00"},
		{"a", "a", "b"},
		{"a/", "a/", "a0"},
		{"a\xff", "a\xff", "b"},
		{"\xff\xff", "\xff\xff", "\x00"},
	}
	for _, tt := range tests {
		if key, end := span(tt.prefix); string(key) != tt.key || string(end) != tt.end {
			t.Errorf("%q spans %q to %q, want %q to %q", tt.prefix, key, end, tt.key, tt.end)
		}
	}
}
