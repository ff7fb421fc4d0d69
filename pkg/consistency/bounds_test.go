package consistency

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestUnstated: the first value that no request wrote counts as the initial one.
func TestUnstated(t *testing.T) {
	var s tally
	r := rand.New(rand.NewPCG(9, 10))
	for range 3000 {
		c := exactRecipe(r)
		h := c.history(r, -1)
		for n := range h {
			if o := &h[n]; o.Kind == Read && r.Float64() < c.lies/3 {
				o.Read, o.Known, o.Outcome = -2, true, OK
			}
		}
		want := linearizable(h, -1) || linearizable(h, -2)
		j := judgeOf(Unstated, false)
		counts := deliver(r, j, h)
		if got := counts.Violations.All() == 0; got != want {
			t.Fatalf("linearizable with some first value is %v, the judge says %v: %+v\n%+v", want, got, counts, h)
		}
		if s.histories++; !want {
			s.wrong++
		}
	}
	if s.wrong < 200 || s.histories-s.wrong < 200 {
		t.Errorf("%d of %d histories are wrong: that tests too little", s.wrong, s.histories)
	}
}

// TestLate: a request that was sent before the moment of an earlier call is counted as late, and
// its key gets no more verdicts.
func TestLate(t *testing.T) {
	j := judgeOf(Absent, false)
	j.Second([]Op{{Request: 1, Sent: 0, End: 10, Kind: Write}}, 100)
	counts := j.Second([]Op{
		{Request: 2, Sent: 50, End: 60, Kind: Write},
		{Request: 3, Sent: 110, End: 120, Kind: Read, Known: true, Read: 77},
		{Key: 1, Request: 4, Sent: 110, End: 120, Kind: Write},
	}, 200)
	if counts.Late != 1 || counts.Unjudged != 2 || counts.Judged != 1 {
		t.Errorf("got %+v, want 1 late, 2 unjudged on its key and 1 judged on another", counts)
	}
	if j.Finish(); j.Totals().Violations.All() != 0 {
		t.Errorf("a key with a late request has violations: %+v", j.Totals())
	}
	if held := j.ReadBack(0, 1); held != NotJudged {
		t.Errorf("the value of a key with a late request is held %d, want not judged", held)
	}
}

// TestMostKeys: requests on keys beyond the judged ones are counted.
func TestMostKeys(t *testing.T) {
	j := New(Options{MostKeys: 2})
	counts := j.Second([]Op{
		{Key: 1, Request: 1, End: 1, Kind: Write}, {Key: 2, Request: 2, End: 1, Kind: Write}, {Key: 3, Request: 3, End: 1, Kind: Write},
		{Key: 1, Request: 4, Sent: 2, End: 3, Kind: Other}, {Key: 1, Request: 5, Sent: 3, End: 2, Kind: Read},
		{Key: 1, Request: 6, Sent: 2, End: 3, Kind: Read},
	}, 10)
	if counts.Judged != 2 || counts.Unjudged != 3 || counts.Unnumbered != 1 || counts.Keys != 2 {
		t.Errorf("got %+v, want 2 judged, 3 unjudged, 1 unnumbered and 2 keys", counts)
	}
}

// TestUnknownForgotten: reads of writes with unknown outcomes that are no longer kept are not
// violations, and are counted.
func TestUnknownForgotten(t *testing.T) {
	j := New(Options{MostUnknown: 1})
	j.Second([]Op{
		{Request: 1, End: 1, Kind: Write},
		{Request: 2, End: 1, Kind: Write, Outcome: Unknown},
		{Request: 3, End: 1, Kind: Write, Outcome: Unknown},
	}, 10)
	j.Second([]Op{{Request: 4, Sent: 20, End: 21, Kind: Read, Known: true, Read: 3}}, 30)
	j.Second([]Op{{Request: 5, Sent: 40, End: 41, Kind: Read, Known: true, Read: 2}}, 50)
	j.Finish()
	if totals := j.Totals(); totals.Violations.All() != 0 || totals.Forgotten != 1 || totals.UnknownWrites != 0 {
		t.Errorf("got %+v, want one forgotten read and no violation", totals)
	}
}

// TestReadBack: key values after a load.
func TestReadBack(t *testing.T) {
	write := func(key, request, at int64) Op {
		return Op{Key: key, Request: request, Sent: at, End: at + 5, Kind: Write}
	}
	lost := write(3, 31, 20)
	lost.Outcome = Unknown
	failed := write(4, 41, 20)
	failed.Outcome = Failed
	gone := Op{Key: 6, Request: 61, Sent: 20, End: 25, Kind: Delete}
	ops := []Op{write(1, 10, 0), write(1, 11, 10), write(2, 20, 0), write(2, 21, 2), write(3, 30, 0), lost, write(4, 40, 0), failed, write(5, 50, 0), write(6, 60, 0), gone}
	for _, c := range []struct {
		name       string
		key, value int64
		want       Held
		deletes    bool
	}{
		{"the last value", 1, 11, Kept, false},
		{"one before the last", 1, 10, Older, false},
		{"the value before the load", 1, -1, Older, false},
		{"missing", 1, Absent, Gone, false},
		{"never written", 1, 99, Foreign, false},
		{"either of two at once", 2, 20, Kept, false},
		{"the other of two at once", 2, 21, Kept, false},
		{"a write of unknown outcome", 3, 31, Kept, false},
		{"the value before a write of unknown outcome", 3, 30, Kept, false},
		{"a failed write", 4, 41, Foreign, false},
		{"a key that was not written", 7, 1, NotJudged, false},
		{"missing after a delete", 6, Absent, Kept, true},
		{"missing without a delete", 5, Absent, Gone, true},
		{"there after a delete", 6, 60, Older, true},
	} {
		j := New(Options{Initial: func(int64) int64 { return -1 }, Deletes: c.deletes})
		if !c.deletes {
			j.Second(ops[:len(ops)-1], 12)
		} else {
			j.Second(ops, 12)
		}
		if j.Finish(); j.Totals().Violations.All() != 0 {
			t.Fatalf("the load has violations: %+v", j.Totals())
		}
		if held := j.ReadBack(c.key, c.value); held != c.want {
			t.Errorf("%s: key %d with value %d is held %d, want %d", c.name, c.key, c.value, held, c.want)
		}
	}
	j := judgeOf(-1, false)
	j.Second(ops[:8], 100)
	n := 0
	for range j.Written() {
		n++
	}
	if n != 4 {
		t.Errorf("%d keys were written, want 4", n)
	}
}

// TestWrittenOrder: the keys that were written last come first, whether they have their own places
// or get them when requests take them, and however often they were written before.
func TestWrittenOrder(t *testing.T) {
	for _, keys := range []int64{0, 3, 6} {
		for _, deletes := range []bool{false, true} {
			j := New(Options{Keys: keys, Deletes: deletes})
			ops := make([]Op, 0, 9)
			for n, key := range []int64{4, 1, 5, 0, 4, 2, 3, 1, 5} {
				ops = append(ops, Op{Key: key, Request: int64(n), Sent: int64(10 * n), End: int64(10*n + 5), Kind: Write})
			}
			ops[8].Kind, ops[8].Read, ops[8].Known = Read, 2, true
			if deletes {
				ops[7].Kind = Delete
			}
			j.Second(ops[:6], 60)
			j.Second(ops[6:], 90)
			j.Finish()
			if got := slices.Collect(j.Written()); !slices.Equal(got, []int64{1, 3, 2, 4, 0, 5}) {
				t.Errorf("%d keys with places of their own, deletes %v: the order is %v, want 1, 3, 2, 4, 0 and 5", keys, deletes, got)
			}
		}
	}
}

// TestMemoryOfOneKey: the memory for one key does not grow with its requests.
func TestMemoryOfOneKey(t *testing.T) {
	s := &store{clients: 16, keys: 1, writes: 0.5}
	j := s.judge(Options{Remembered: 1000})
	for range 50 {
		s.run(j, 1000)
		if k := j.keys.at(0); len(k.zones) > 100 || j.memory.held() > 1000 || len(j.unknown) > 0 {
			t.Fatalf("after %d requests %d values are open and %d remembered", j.Totals().Operations, len(k.zones), j.memory.held())
		}
	}
	if totals := j.Totals(); totals.Violations.All() != 0 || totals.Judged < 40000 {
		t.Errorf("got %+v, want no violation in some 50,000 requests", totals)
	}
}
