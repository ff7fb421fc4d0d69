package unary

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLiveCalls compares the list with a map, while calls begin and end in any order.
func TestLiveCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var l liveCalls
	want := map[uint32]*call{}
	id := uint32(1)
	for n := range 20_000 {
		switch {
		case r.IntN(100) < 50+(n/2000%2)*5-2: // for a while more begin than end, then fewer
			k := &call{id: id}
			id += 2
			l.add(k)
			want[k.id] = k
		default:
			gone := 2*r.Uint32N(id/2+1) + 1 // perhaps one that has ended
			if ids := slices.Collect(maps.Keys(want)); len(ids) > 0 && r.IntN(4) > 0 {
				gone = slices.Min(ids)
			}
			l.remove(gone)
			delete(want, gone)
		}
		probe := 2*r.Uint32N(id/2+1) + 1
		if l.of(probe) != want[probe] || l.count != len(want) {
			t.Fatalf("after %d steps: stream %d is %v, want %v; %d are open, want %d", n+1, probe, l.of(probe), want[probe], l.count, len(want))
		}
	}
	got := map[uint32]*call{}
	for k := range l.all() {
		got[k.id] = k
		l.remove(k.id)
	}
	if !maps.Equal(got, want) || l.count != 0 {
		t.Errorf("%d calls are listed and %d left, want %d and none", len(got), l.count, len(want))
	}
	if room := cap(l.list); room > 4*20_000 {
		t.Errorf("the list has room for %d", room)
	}
}
