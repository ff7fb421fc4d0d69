package unary

import "testing"

// A server announces a length before it sends the first message byte, and the caller knows its
// limit.
func TestReplyLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		limit  int
		length byte // of the message, in MiB
		ok     bool
	}{
		"within":      {2 << 20, 2, true},
		"beyond":      {2<<20 - 1, 2, false},
		"no limit":    {0, 200, true},
		"large limit": {64 << 20, 64, true},
	} {
		r := reply{size: -1, limit: tc.limit}
		n := int(tc.length) << 20
		err := r.add([]byte{0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		if (err == nil) != tc.ok {
			t.Errorf("%s: a reply of %d bytes under a limit of %d: %v, want accepted %v", name, n, tc.limit, err, tc.ok)
		}
	}
}
