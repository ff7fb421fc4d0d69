package requests

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// valuesOf draws a read load with values of any size, or in a size range.
func valuesOf(t *rapid.T) *Sequence {
	load := workload.Load{Content: workload.Content{Operation: workload.OpRead}, Keyspace: workload.Keyspace{Keys: 10}, Sizing: workload.Sizing{ValueSize: rapid.IntRange(0, 300).Draw(t, "value_size")}}
	if load.ValueSize >= minChecked && rapid.Bool().Draw(t, "range") {
		load.ValueSizeMax = load.ValueSize + rapid.IntRange(1, 100).Draw(t, "wider by")
	}
	g, err := New(load, rapid.Uint64().Draw(t, "seed"), 0, 1)
	if err != nil {
		t.Fatalf("make a sequence: %v", err)
	}
	return g
}

// TestAlteredValuesAreFound alters one value in every way that a store may. Each change is found
// without checking every thousandth value byte by byte.
func TestAlteredValuesAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := valuesOf(t)
		key, number := rapid.Int64Range(0, 1<<40).Draw(t, "key"), rapid.Int64Range(-1<<40, 1<<40).Draw(t, "number")
		good := g.appendValue(nil, key, number)
		_, by, err := g.verify(nil, good, key, rapid.Bool().Draw(t, "whole"))
		if err != nil {
			t.Fatalf("the value that was written: want no error, got %v", err)
		}
		if known := len(good) >= minChecked; by.Known != known || known && by.Number != number {
			t.Fatalf("a value of %d bytes written by request %d: want its number if it has 16 bytes, got %+v", len(good), number, by)
		}
		bad := slices.Clone(good)
		how := rapid.SampledFrom([]string{"flip", "truncate", "extend", "other key", "zero", "burst"}).Draw(t, "how")
		if len(bad) == 0 && how != "other key" {
			how = "extend"
		}
		switch how {
		case "flip":
			bit := rapid.IntRange(0, 8*len(bad)-1).Draw(t, "bit")
			bad[bit/8] ^= 1 << (bit % 8)
		case "truncate":
			bad = bad[:rapid.IntRange(0, len(bad)-1).Draw(t, "size")]
		case "extend":
			bad = append(bad, rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "tail")...)
		case "other key":
			other := rapid.Int64Range(0, 1<<40).Filter(func(k int64) bool { return k != key }).Draw(t, "other key")
			bad = g.appendValue(bad[:0], other, number)
		case "zero":
			clear(bad[rapid.IntRange(0, len(bad)-1).Draw(t, "from"):])
		case "burst":
			from := rapid.IntRange(0, len(bad)-1).Draw(t, "from")
			copy(bad[from:], rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(t, "bytes"))
		}
		if bytes.Equal(bad, good) {
			t.Skip("the value is the same")
		}
		if _, by, err := g.verify(nil, bad, key, false); err == nil || by.Known {
			t.Fatalf("%s: %d bytes instead of %d pass, want an error", how, len(bad), len(good))
		} else if _, class := database.Classify(err); class != database.ClassWrongValue {
			t.Fatalf("%s: want class %q, got %q", how, database.ClassWrongValue, class)
		}
	})
}

// TestEarlierRunsValues: a read may find a value from an earlier run with the same seed and
// another number of requests. It is right. A value from another seed is wrong.
func TestEarlierRunsValues(t *testing.T) {
	load := workload.Load{Content: workload.Content{Operation: workload.OpRead}, Keyspace: workload.Keyspace{Keys: 10}, Sizing: workload.Sizing{ValueSize: 64}}
	now := mustGenerator(t, load, 5, 1)
	for seed, ok := range map[uint64]bool{5: true, 6: false} {
		earlier := mustGenerator(t, workload.Load{Content: workload.Content{Operation: workload.OpUpdate}, Keyspace: workload.Keyspace{Keys: 500}, Sizing: workload.Sizing{ValueSize: 64}}, seed, 100)
		_, _, err := now.verify(nil, earlier.appendValue(nil, 7, -493), 7, true)
		if (err == nil) != ok {
			t.Errorf("a value of seed %d read by a load of seed 5: want ok %v, got error %v", seed, ok, err)
		}
	}
}

// BenchmarkCheck measures what checking a read value costs.
func BenchmarkCheck(b *testing.B) {
	for _, size := range []int{8, 64, 1024, 16 << 10} {
		g := &Sequence{layout: layout{seed: 1}, load: workload.Load{Sizing: workload.Sizing{ValueSize: size}}}
		value := g.appendValue(nil, 7, 9)
		scratch := make([]byte, 0, size)
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				var err error
				if scratch, _, err = g.verify(scratch, value, 7, false); err != nil {
					b.Fatalf("verify the value: %v", err)
				}
			}
		})
	}
}
