package process

import "testing"

// FuzzParseStat gives any text to the parser for /proc/PID/stat.
func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21"))
	f.Add([]byte("7 (etcd) S 1 2"))
	f.Add([]byte(") ) )"))
	f.Fuzz(func(t *testing.T, data []byte) {
		state, ticks, err := parseStat(data)
		if err != nil && (state != 0 || ticks != 0) {
			t.Errorf("%q: %v beside state %c and ticks %d", data, err, state, ticks)
		}
		for _, n := range []int{-1, 0, 1, 20} {
			if got := lastLines(untilPanic(data, n), n); len(got) > len(data) {
				t.Errorf("the last %d lines of %q are %q", n, data, got)
			}
		}
	})
}
