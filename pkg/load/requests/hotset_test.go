package requests

import (
	"math"
	"testing"

	"github.com/coreos/dbtester/pkg/workload"
)

// TestHotset: hot keys get their share, all equally often, and so do the others.
func TestHotset(t *testing.T) {
	const keys, hot, n = 200, 20, 1_000_000
	g := mustGenerator(t, workload.Load{Content: workload.Content{Operation: workload.OpUpdate}, Keyspace: workload.Keyspace{Keys: keys, KeyLaw: workload.KeysHotset, HotKeys: hot, HotShare: 80}}, 3, 1)
	var hits [keys]float64
	for i := range int64(n) {
		hits[g.Request(i).Key]++
	}
	sum := 0.0
	for rank := range int64(keys) {
		want := n * 0.8 / hot
		if rank >= hot {
			want = n * 0.2 / (keys - hot)
		}
		got := hits[scatter(rank, keys, 3)]
		sum += (got - want) * (got - want) / want
	}
	if limit := keys + 5*math.Sqrt(2*keys); sum > limit {
		t.Errorf("chi-square is %.0f over %d keys, want at most %.0f", sum, keys, limit)
	}
}

// TestHotsetMoves: after every hot_moves requests other keys are hot, until each key was,
// and a request has the same key whenever it is computed.
func TestHotsetMoves(t *testing.T) {
	const keys, hot, moves = 1000, 10, 500
	g := mustGenerator(t, workload.Load{Content: workload.Content{Operation: workload.OpUpdate}, Keyspace: workload.Keyspace{Keys: keys, KeyLaw: workload.KeysHotset, HotKeys: hot, HotShare: 100, HotMoves: moves}}, 9, 1)
	was := map[int64]int64{}
	for set := range int64(keys / hot) {
		now := map[int64]bool{}
		for i := set * moves; i < (set+1)*moves; i++ {
			now[g.Request(i).Key] = true
		}
		if len(now) != hot {
			t.Fatalf("set %d has %d keys in %d requests, want %d", set, len(now), moves, hot)
		}
		for key := range now {
			if before, twice := was[key]; twice {
				t.Fatalf("key %d is hot in sets %d and %d", key, before, set)
			}
			was[key] = set
		}
	}
	if len(was) != keys {
		t.Errorf("%d keys were hot, want all %d", len(was), keys)
	}
	if a, b := g.Request(7), g.Request(int64(keys/hot)*moves*1_000_000_007+7); a.Key < 0 || b.Key < 0 || b.Key >= keys {
		t.Errorf("keys %d and %d are out of range", a.Key, b.Key)
	}
}

// TestSizesByLaw: a value has the size of its request, which its reader knows.
func TestSizesByLaw(t *testing.T) {
	for _, sizes := range []workload.Sizes{
		{Law: workload.SizesLognormal, P50: 100, P99: 400},
		{Law: workload.SizesHistogram, Bins: []workload.SizeBin{{Bytes: 20, Count: 3}, {Bytes: 900, Count: 1}}},
	} {
		g := mustGenerator(t, workload.Load{Content: workload.Content{Operation: workload.OpUpdate}, Keyspace: workload.Keyspace{Keys: 10, KeyLaw: workload.KeysUniform}, Sizing: workload.Sizing{ValueSize: 20, ValueSizeMax: 900, Sizes: sizes}}, 5, 1)
		lengths := map[int]bool{}
		for i := range int64(1000) {
			r := g.Request(i)
			value := g.AppendValue(nil, r)
			lengths[len(value)] = true
			if by, err := g.CheckKey(value, r.Key); err != nil || by != (Writer{r.Number, true}) {
				t.Fatalf("%s: the value of request %d was written by %+v, error %v", sizes.Law, r.Number, by, err)
			}
			if _, err := g.CheckKey(append(value, 0), r.Key); err == nil {
				t.Fatalf("%s: a value of another size is accepted", sizes.Law)
			}
		}
		if len(lengths) < 2 {
			t.Errorf("%s: all values have one size", sizes.Law)
		}
	}
}
