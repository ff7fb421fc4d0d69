package consistency

import (
	"math/rand/v2"
	"testing"
)

// staleReads finds the stale reads in a history of writes and reads by the definition, over all
// pairs. It returns their number, the greatest staleness and the sum.
func staleReads(h []Op, initial int64) (n, most, sum int64) {
	type value struct{ there, sent int64 }
	values := map[int64]value{initial: {earliest, earliest}}
	for _, o := range h {
		if o.Kind == Write && o.Outcome != Failed {
			v := value{never, o.Sent}
			if o.Outcome == OK {
				v.there = o.End
			}
			values[o.Request] = v
		}
	}
	of := func(o *Op) int64 {
		if o.Outcome == NotFound {
			return Absent
		}
		return o.Read
	}
	for n := range h {
		if v, known := values[of(&h[n])]; known && h[n].Kind == Read {
			v.there = min(v.there, h[n].End)
			values[of(&h[n])] = v
		}
	}
	for i := range h {
		v, known := values[of(&h[i])]
		if h[i].Kind != Read || !known {
			continue
		}
		replaced := int64(never)
		for _, other := range values {
			if other.sent > v.there {
				replaced = min(replaced, other.there)
			}
		}
		if stale := h[i].Sent - replaced; stale > 0 {
			n, most, sum = n+1, max(most, stale), sum+stale
		}
	}
	return n, most, sum
}

// TestStaleness: stale reads in a weaker mode agree with the definition, and nothing is a
// violation.
func TestStaleness(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	stale := int64(0)
	for range 600 {
		c := recipe{clients: 2 + r.IntN(5), requests: 4 + r.IntN(60), unknown: 0.1 * float64(r.IntN(2)), lies: 0.3}
		initial := int64(-1)
		if r.IntN(2) == 0 {
			initial = Absent
		}
		h := c.history(r, initial)
		j := New(Options{Initial: func(int64) int64 { return initial }, Weaker: true})
		counts := deliver(r, j, h)
		want, most, sum := staleReads(h, initial)
		if counts.StaleReads != want || counts.Staleness != most {
			t.Fatalf("%d stale reads, at most %d ns; want %d and %d\n%+v", counts.StaleReads, counts.Staleness, want, most, h)
		}
		if want > 0 && (j.Stale().TotalCount() != want || j.Stale().Max() < most) {
			t.Fatalf("the histogram has %d reads up to %d ns, want %d up to %d (sum %d)", j.Stale().TotalCount(), j.Stale().Max(), want, most, sum)
		}
		if counts.Violations.All() != 0 || counts.Unrecognised != 0 || counts.Judged != int64(len(h)) {
			t.Fatalf("a weaker mode gives %+v", counts)
		}
		stale += want
	}
	if stale < 300 {
		t.Errorf("only %d reads were stale: that tests too little", stale)
	}
}

// TestStepsBack: a client that reads a newer value and then an older one is counted, two clients
// are not.
func TestStepsBack(t *testing.T) {
	j := New(Options{Weaker: true})
	counts := j.Second([]Op{
		{Request: 1, Sent: 0, End: 10, Kind: Write},
		{Request: 2, Sent: 20, End: 30, Kind: Write},
		{Request: 3, Sent: 40, End: 50, Kind: Read, Known: true, Read: 2, Client: 1},
		{Request: 4, Sent: 60, End: 70, Kind: Read, Known: true, Read: 1, Client: 1},
		{Request: 5, Sent: 60, End: 70, Kind: Read, Known: true, Read: 1, Client: 2},
	}, 100)
	if counts.StepsBack != 1 || counts.StaleReads != 2 || counts.Staleness != 30 {
		t.Errorf("got %+v, want one step back and two reads stale by 30 ns", counts)
	}
}

// TestWeakerWaits: a read is measured when the writes that it may have read have ended, by a
// later call.
func TestWeakerWaits(t *testing.T) {
	j := New(Options{Weaker: true})
	read := Op{Request: 2, Sent: 5, End: 50, Kind: Read, Known: true, Read: 1}
	if counts := j.Second([]Op{read}, 5); counts.Unrecognised != 0 || counts.Operations != 1 {
		t.Errorf("the read of a running write is counted as %+v", counts)
	}
	if counts := j.Second([]Op{{Request: 1, Sent: 5, End: 60, Kind: Write}}, 60); counts.Unrecognised != 0 || counts.Operations != 1 {
		t.Errorf("with the write, the read is counted as %+v", counts)
	}
	j.Second([]Op{{Request: 3, Sent: 70, End: 80, Kind: Read, Known: true, Read: 99}}, 75)
	j.Finish()
	if totals := j.Totals(); totals.Unrecognised != 1 || totals.Operations != 3 || totals.Judged != 3 {
		t.Errorf("got %+v, want 3 requests, one of them unrecognised", totals)
	}
}
