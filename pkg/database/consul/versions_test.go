package consul

import (
	"fmt"
	"testing"
)

// TestPages: as few listings as bounded answers allow, each for one block of numbers below one
// prefix.
func TestPages(t *testing.T) {
	for _, tt := range []struct {
		format      string
		first, many int
		perKey      int
		lists, ones int
	}{
		{"%08d", 0, 1000, 1280, 1, 0},
		{"%08d", 2000, 1000, 1280, 1, 0},
		{"%08d", 2500, 1000, 1280, 2, 0},
		{"%08d", 0, 1000, 32 << 10, 10, 0},
		{"%08d", 0, 1000, 512 << 10, 100, 0},
		{"%08d", 0, 1000, 1 << 20, 0, 1000},
		{"bench/9/%02d", 0, 100, 1280, 1, 0},
		{"%03d", 0, 1000, 1280, 0, 1000},      // the prefix would cover all keys
		{"bench/x%%%03d", 0, 10, 1280, 0, 10}, // stored under other names
		{"bench/%c", 'a', 20, 1280, 0, 20},
	} {
		var keys [][]byte
		for i := range tt.many {
			keys = append(keys, fmt.Appendf(nil, tt.format, tt.first+i))
		}
		lists, ones, next := 0, 0, 0
		err := pages(keys, tt.perKey, func(from, to int, prefix []byte) error {
			if from != next || to <= from {
				t.Fatalf("%+v: a page from %d to %d after %d", tt, from, to, next)
			}
			if next = to; prefix == nil {
				ones += to - from
			} else {
				lists++
			}
			return nil
		})
		if err != nil || next != tt.many || lists != tt.lists || ones != tt.ones {
			t.Errorf("%+v: %d listings and %d keys by themselves, up to %d, %v", tt, lists, ones, next, err)
		}
	}
}
