package cpuprofile_test

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coreos/dbtester/analyze/abilities/profile/cpuprofile"
)

// made returns a profile with two functions; the second is inlined into the first.
func made(unit string) []byte {
	number := func(at protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, at, protowire.VarintType), v)
	}
	part := func(at protowire.Number, parts ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, at, protowire.BytesType), bytes.Join(parts, nil))
	}
	packed := func(list ...uint64) (all []byte) {
		for _, v := range list {
			all = protowire.AppendVarint(all, v)
		}
		return all
	}
	var all []byte
	for _, text := range []string{"", "samples", "count", "cpu", unit, "outer", "inner"} {
		all = append(all, part(6, []byte(text))...)
	}
	return bytes.Join([][]byte{
		all,
		part(1, number(1, 1), number(2, 2)), part(1, number(1, 3), number(2, 4)),
		part(5, number(1, 10), number(2, 5)), part(5, number(1, 11), number(2, 6)),
		part(4, number(1, 100), part(4, number(1, 11)), part(4, number(1, 10))),
		part(4, number(1, 101), part(4, number(1, 10))),
		part(2, part(1, packed(100, 101)), part(2, packed(3, 30_000_000))),
		part(2, number(1, 101), number(2, 1), number(2, 10_000_000)),
	}, nil)
}

// TestParse: the time belongs to the innermost function, also where it is inlined.
func TestParse(t *testing.T) {
	t.Parallel()
	p, err := cpuprofile.Parse(bytes.NewReader(made("nanoseconds")))
	if err != nil {
		t.Fatalf("parse the profile: %v", err)
	}
	if p.Total.Milliseconds() != 40 || len(p.Self) != 2 || p.Self["inner"].Milliseconds() != 30 || p.Self["outer"].Milliseconds() != 10 {
		t.Errorf("%v of %v, want 30 ms in inner and 10 ms in outer", p.Self, p.Total)
	}
}

// TestBad: data that is not a CPU profile is an error, not an empty profile.
func TestBad(t *testing.T) {
	t.Parallel()
	good := string(made("nanoseconds"))
	for _, text := range []string{"", "no profile", "\x1f\x8bno gzip", good[:len(good)-3], string(made("bytes"))} {
		if p, err := cpuprofile.Parse(strings.NewReader(text)); err == nil {
			t.Errorf("%q is a profile: %v, want an error", text, p)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(made("nanoseconds"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := cpuprofile.Parse(bytes.NewReader(data)); err == nil && p.Self == nil {
			t.Error("a profile without functions must have an empty map")
		}
	})
}
