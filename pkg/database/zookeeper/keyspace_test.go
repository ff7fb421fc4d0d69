package zookeeper

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPath(t *testing.T) {
	k := Keyspace{Parents: 1000}
	tests := []struct{ key, want string }{
		// "a" has the CRC-32 e8b7be43, 3904355907.
		{"a", "/907/a"},
		{"", "/000/%"},
		{"%", "/570/%25"},
		{".", "/578/%2E"},
		{"..", "/348/%2E%2E"},
		{"...", "/147/..."},
		{"a.b", "/605/a.b"},
		{"a/b c", "/934/a%2Fb%20c"},
		{"\x00\x7f\xff", "/974/%00%7F%FF"},
		{"zookeeper", "/817/zookeeper"},
		{"é", "/326/%C3%A9"},
	}
	for _, tt := range tests {
		if got := k.path([]byte(tt.key)); got != tt.want {
			t.Errorf("%q is at %q, want %q", tt.key, got, tt.want)
		}
	}
	if got := (Keyspace{Parents: 1}).path([]byte("k")); got != "/0/k" {
		t.Errorf("with one parent: %q", got)
	}
}

// unescape inverts appendName, written independently.
func unescape(t *rapid.T, name string) []byte {
	if name == "%" {
		return nil
	}
	var key []byte
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			key = append(key, name[i])
			continue
		}
		b, err := strconv.ParseUint(name[i+1:i+3], 16, 8)
		if err != nil {
			t.Fatalf("escape in %q: %v", name, err)
		}
		key = append(key, byte(b))
		i += 2
	}
	return key
}

// The mapping has an inverse, so no two keys share a path, and ZooKeeper accepts every
// path.
func TestPathIsInjective(t *testing.T) {
	bytesOf := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 64),
		rapid.SliceOfN(rapid.SampledFrom([]byte("%./2E5a\x00\xff ")), 0, 6),
	)
	rapid.Check(t, func(t *rapid.T) {
		k := Keyspace{Parents: rapid.IntRange(1, maxParents).Draw(t, "parents")}
		key := bytesOf.Draw(t, "key")
		at := k.path(key)
		parent, name := path.Split(at)
		if got := unescape(t, name); !bytes.Equal(got, key) {
			t.Fatalf("%q is at %q, which is %q", key, at, got)
		}
		i, err := strconv.Atoi(strings.Trim(parent, "/"))
		if err != nil || i < 0 || i >= k.Parents || k.parent(i)+"/" != parent {
			t.Fatalf("%q is at %q: no parent of %d: %v", key, at, k.Parents, err)
		}
		if path.Clean(at) != at || !utf8.ValidString(at) || strings.ContainsFunc(at, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Fatalf("%q is at %q, which is not a path", key, at)
		}
		if plain := bytes.IndexFunc(key, func(r rune) bool { return r < 'a' || r > 'z' }) < 0; plain && len(key) > 0 && len(at) != k.pathSize(len(key)) {
			t.Fatalf("%q has %d bytes, want %d", at, len(at), k.pathSize(len(key)))
		}
	})
}

// The parents for load keys, numbers with zeros in front, are evenly used.
func TestParentsAreEven(t *testing.T) {
	const keys, parents = 100_000, 100
	k := Keyspace{Parents: parents}
	uses := map[string]int{}
	for i := range keys {
		uses[path.Dir(k.path(fmt.Appendf(nil, "%064d", i)))]++
	}
	for parent, n := range uses {
		if n < keys/parents*8/10 || n > keys/parents*12/10 {
			t.Errorf("%s has %d of %d keys", parent, n, keys)
		}
	}
	if len(uses) != parents {
		t.Errorf("%d parents are used, want %d", len(uses), parents)
	}
}

func TestSizes(t *testing.T) {
	p := Protocol{Keys: Keyspace{Parents: 1000}, MaxPacket: DefaultMaxPacket}
	// 47 bytes in the request, "/123/" and the key.
	if got, want := p.MaxValue(256), 1048575-47-5-256; got != want {
		t.Errorf("largest value: %d, want %d", got, want)
	}
	if got := (Protocol{Keys: p.Keys, MaxPacket: 100}).MaxValue(256); got != 0 {
		t.Errorf("a packet without room for a value holds %d", got)
	}
	for _, tt := range []struct{ maxBytes, want int }{
		{0, 1048579 + 88}, {1, 4096}, {256 + 8192, 256 + 8192 + 5 + 47 + 512 + 4}, {2 << 20, 1048579 + 88},
	} {
		if got := p.bufferSize(tt.maxBytes); got != tt.want {
			t.Errorf("buffers for %d bytes: %d, want %d", tt.maxBytes, got, tt.want)
		}
	}
}

func BenchmarkPath(b *testing.B) {
	k, key := Keyspace{Parents: DefaultParents}, bytes.Repeat([]byte("0"), 256)
	var at []byte
	b.ReportAllocs()
	for b.Loop() {
		at = k.appendPath(at[:0], key)
	}
}

func (k Keyspace) path(key []byte) string { return string(k.appendPath(nil, key)) }
