package consistency

import (
	"math/rand/v2"
	"testing"
)

// guardedHistory returns guarded writes to one key, some of which lie: they replaced a version that
// the key had before.
func guardedHistory(r *rand.Rand, lies float64) []Op {
	clients := 1 + r.IntN(6)
	free := make([]int64, clients)
	now, version := int64(0), int64(1)
	var h []Op
	for n := range 4 + r.IntN(30) {
		client := r.IntN(clients)
		sent := max(free[client], now-int64(r.IntN(60)))
		now = max(sent, now) + int64(r.IntN(2))
		o := Op{Request: int64(n + 1), Sent: sent, End: now + int64(r.IntN(60)), Client: int32(client), Kind: Guarded, Read: version, Known: true}
		free[client] = o.End + int64(r.IntN(2))
		switch p := r.Float64(); {
		case p < lies:
			o.Read = max(1, version-1-int64(r.IntN(4)))
			version++
		case p < 0.1+lies:
			o.Outcome = Failed
		case p < 0.2+lies:
			o.Outcome = Unknown
			version += int64(r.IntN(2))
		default:
			version += 1 + int64(r.IntN(2))
		}
		h = append(h, o)
	}
	return h
}

// twice counts, by comparing all pairs, the writes that cannot have replaced their versions because
// of others.
func twice(h []Op) (n int) {
	for b := range h {
		for a := range h {
			one, other := &h[a], &h[b]
			if a == b || one.Outcome != OK || other.Outcome != OK {
				continue
			}
			earlier := one.Read == other.Read && (one.End < other.End || one.End == other.End && a < b)
			if earlier || one.End < other.Sent && one.Read >= other.Read {
				n++
				break
			}
		}
	}
	return n
}

// TestVersions: the judge finds the same versions that two writes replaced as comparing all pairs
// does, and each has a witness.
func TestVersions(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	wrong := 0
	for n := range 4000 {
		h := guardedHistory(r, 0.1*float64(n%2))
		j := judgeOf(-1, false)
		counts := deliver(r, j, h)
		want := twice(h)
		if got := counts.DoubleSwaps; (got > 0) != (want > 0) || got > int64(want) {
			t.Fatalf("%d writes replaced versions that were replaced, the judge says %d\n%+v", want, got, h)
		}
		if counts.Violations.All() != counts.DoubleSwaps || counts.Judged != int64(len(h)) {
			t.Fatalf("got %+v of %d writes", counts, len(h))
		}
		for _, w := range j.Witnesses() {
			if err := w.Check(); err != nil {
				t.Errorf("%s: %v", w.Words(0), err)
			}
		}
		if want > 0 {
			wrong++
		}
	}
	if wrong < 500 || wrong > 3500 {
		t.Errorf("%d of 4000 histories are wrong: that tests too little", wrong)
	}
}

// TestVersionsMemory: the memory for a key with many writers does not grow with its writes.
func TestVersionsMemory(t *testing.T) {
	j := judgeOf(-1, false)
	for n := range int64(1000) {
		at := 100 * n
		j.Second([]Op{
			{Request: 2*n + 1, Sent: at, End: at + 50, Kind: Guarded, Read: 2*n + 1, Known: true},
			{Request: 2*n + 2, Sent: at + 10, End: at + 90, Kind: Guarded, Read: 2*n + 2, Known: true},
		}, at+95)
		if open := len(j.keys.at(0).odd().versions.open); open > 2 {
			t.Fatalf("after %d writes, %d versions are held", 2*n+2, open)
		}
	}
	if totals := j.Totals(); totals.Violations.All() > 0 {
		t.Errorf("honest writes are %+v: %s", totals.Violations, j.Witnesses()[0].Words(0))
	}
	j.Second([]Op{{Request: 9999, Sent: 200_000, End: 200_010, Kind: Guarded, Read: 7, Known: true}}, 200_020)
	want := "key 0: double swap. Request 2000 of client 0, sent at 99.91µs and answered at 99.99µs, replaced version 2000 of the key, " +
		"and request 9999 of client 0, sent at 200µs and answered at 200.01µs, one that had been replaced before: version 7."
	if got := j.Witnesses(); len(got) != 1 || got[0].Words(0) != want {
		t.Errorf("a version that was replaced long ago has the witnesses %+v, want %s", got, want)
	}
}
