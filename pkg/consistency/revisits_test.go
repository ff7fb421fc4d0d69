package consistency

import (
	"slices"
	"testing"
)

// TestRevisits: keys are due once the moment has passed their batch's last end.
func TestRevisits(t *testing.T) {
	var r revisits
	r.close(5) // nothing was added
	r.add(1)
	r.add(2)
	r.close(10)
	r.add(3)
	r.close(20)
	for _, c := range []struct {
		before int64
		want   []int32
	}{{10, nil}, {11, []int32{1, 2}}, {20, nil}, {30, []int32{3}}, {never, nil}} {
		if got := r.take(nil, c.before); !slices.Equal(got, c.want) {
			t.Errorf("before %d the keys %v are due, want %v", c.before, got, c.want)
		}
	}
	always := revisits{always: true}
	always.add(4)
	always.close(10)
	if got := always.take(nil, 1); !slices.Equal(got, []int32{4}) {
		t.Errorf("the keys %v are due, want all", got)
	}
}

// TestLongRequest: while one request runs for a long time, keys are not looked at again with every
// batch, and all open values are closed after it.
func TestLongRequest(t *testing.T) {
	j := New(Options{Keys: 100, Initial: func(key int64) int64 { return key - 100 }})
	number := int64(0)
	for batch := range int64(50) {
		at := 100 + 100*batch
		var ops []Op
		for key := batch % 2 * 50; key < batch%2*50+50; key++ {
			number++
			ops = append(ops, Op{Key: key, Request: number, Sent: at + key%50, End: at + key%50 + 20, Kind: Write})
		}
		j.Second(ops, 50) // a request that was sent then runs
		if batch > 1 && len(j.touched) != 50 {
			t.Fatalf("%d keys were looked at for requests on 50", len(j.touched))
		}
	}
	if counts := j.Second(nil, 10_000); len(j.touched) != 100 || counts.OpenZones != 100 {
		t.Errorf("after the long request %d keys were looked at and have %d open values, want 100 and one of each", len(j.touched), counts.OpenZones)
	}
	if j.Finish(); j.Totals().Violations.All() != 0 {
		t.Errorf("honest answers: %+v", j.Totals())
	}
}
