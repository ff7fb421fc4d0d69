package consul

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEncodeKey(t *testing.T) {
	tests := []struct{ key, want string }{
		{"0000000001", "0000000001"},
		{"a/b c;d?e=f&g#h+i.j", "a/b c;d?e=f&g#h+i.j"},
		{"folder/", "folder/"},
		{"/", "%2F"},
		{"/a", "%2Fa"},
		{"a//b", "a/%2Fb"},
		{".", "%2E"},
		{"a/../b", "a/%2E./b"},
		{".a/.b", "%2Ea/%2Eb"},
		{"100%", "100%25"},
		{"%2F", "%252F"},
		{"a\x00\xff\n", "a%00%FF%0A"},
		{"é", "%C3%A9"},
	}
	for _, tt := range tests {
		if got, err := encodeKey([]byte(tt.key)); got != tt.want || err != nil {
			t.Errorf("%q is stored as %q, %v; want %q", tt.key, got, err, tt.want)
		}
	}
	if name, err := encodeKey(nil); err == nil {
		t.Errorf("the empty key is stored as %q", name)
	}
}

// Any key can be recovered from its stored name, and no name has an element an HTTP server would
// rewrite.
func TestEncodeKeyIsLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 1, 40),
			rapid.SliceOfN(rapid.SampledFrom([]byte("a/.%2F ")), 1, 12),
		).Draw(t, "key")
		name, err := encodeKey(key)
		if err != nil {
			t.Fatalf("encode a key: %v", err)
		}
		if back, err := url.PathUnescape(name); err != nil || back != string(key) || decodeKey(name) != back {
			t.Fatalf("%q is stored as %q, which reads %q: %v", key, name, back, err)
		}
		for i, element := range strings.Split(name, "/") {
			last := i > 0 && i == strings.Count(name, "/")
			if element == "." || element == ".." || (element == "" && !last) {
				t.Fatalf("%q is stored as %q, with element %q", key, name, element)
			}
		}
	})
}
