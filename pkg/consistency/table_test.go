package consistency

import "testing"

// Zone lists are used again, whatever their sizes: a load's keys have as many open values in its
// last seconds as in its first ones.
func TestListsAreUsedAgain(t *testing.T) {
	keys := newTable(Options{Keys: 3, MostKeys: 3, Initial: func(int64) int64 { return 7 }})
	grow := func() {
		for i, zones := range []int{3, 40, 300} {
			k := keys.at(int32(i))
			for n := len(k.zones); n < zones; n++ {
				k.zones = append(keys.room(k), newZone(int64(n)))
			}
			if len(k.zones) != zones || k.zones[0].number != 7 || zones > 1 && k.zones[zones-1].number != int64(zones-1) {
				t.Fatalf("key %d has %d zones, from %d to %d, want %d from 7 on", i, len(k.zones), k.zones[0].number, k.zones[len(k.zones)-1].number, zones)
			}
			k.zones = k.zones[:1]
			keys.settle(k)
			if cap(k.zones) != len(k.own) {
				t.Fatalf("key %d keeps a list of %d zones for one", i, cap(k.zones))
			}
		}
	}
	grow()
	// 300 zones need lists of 128, 256 and 512 places. The largest is kept.
	if got := testing.AllocsPerRun(10, grow); got > 0 {
		t.Errorf("the same zones need %v lists more, want none", got)
	}
}
