package consistency

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// tally counts histories, those that are wrong, and verdicts that differ from the reference.
type tally struct{ histories, wrong, differing, missed int }

// compare judges a history from a recipe and compares the verdict with trying every order. Exact
// reports whether the judge must find every violation.
func (s *tally) compare(t *testing.T, r *rand.Rand, c recipe, exact bool, legal func([]Op, int64) bool) {
	t.Helper()
	initial := int64(-1)
	if r.IntN(3) == 0 {
		initial = Absent
	}
	h := c.history(r, initial)
	j := judgeOf(initial, c.deletes > 0)
	counts := deliver(r, j, h)
	want, got := legal(h, initial), counts.Violations.All() == 0
	s.histories++
	if !want {
		s.wrong++
	}
	switch {
	case got == want:
	case !exact && got:
		s.missed++
	default:
		s.differing++
		t.Errorf("linearizable is %v, the judge says %v: %+v\nhistory %+v\nwitnesses %+v", want, got, counts, h, j.Witnesses())
	}
	if counts.Late+counts.Unjudged > 0 || counts.Judged != int64(len(h)) {
		t.Errorf("%d of %d requests were judged, %d late", counts.Judged, len(h), counts.Late)
	}
	checkWitnesses(t, j, h)
}

// checkWitnesses fails unless each violation has a witness whose requests are in the history.
func checkWitnesses(t *testing.T, j *Judge, h []Op) {
	t.Helper()
	byRequest := map[int64]*Op{}
	for n := range h {
		byRequest[h[n].Request] = &h[n]
	}
	totals := j.Totals()
	if all := totals.Violations.All(); (all > 0) != (len(j.Witnesses()) > 0) {
		t.Fatalf("%d violations have %d witnesses", all, len(j.Witnesses()))
	}
	for _, w := range j.Witnesses() {
		if err := w.Check(); err != nil {
			t.Errorf("witness %+v: %v", w, err)
		}
		values := []*Value{&w.Older}
		if w.Newer != nil {
			values = append(values, w.Newer)
		}
		for _, v := range values {
			if e := v.FirstEnd; e != nil && (byRequest[e.Request] == nil || byRequest[e.Request].End != e.At || !of(byRequest[e.Request], v)) {
				t.Errorf("the first end of %+v in %s is not in the history", *e, w.Words(0))
			}
			if e := v.LastSent; e != nil && (byRequest[e.Request] == nil || byRequest[e.Request].Sent != e.At || !of(byRequest[e.Request], v)) {
				t.Errorf("the last sending of %+v in %s is not in the history", *e, w.Words(0))
			}
		}
	}
}

// of reports whether a request wrote or read a value.
func of(o *Op, v *Value) bool {
	if v.Absent {
		return o.Outcome == NotFound
	}
	return o.Request == v.Number && o.Kind != Read || o.Known && o.Read == v.Number
}

// exactRecipe draws a recipe for writes and reads.
func exactRecipe(r *rand.Rand) recipe {
	return recipe{
		clients: 2 + r.IntN(5), requests: 4 + r.IntN(26),
		unknown: 0.1 * float64(r.IntN(2)), failed: 0.05 * float64(r.IntN(2)), lies: 0.12 * float64(r.IntN(2)),
	}
}

// soundRecipe draws a recipe for swaps and deletes.
func soundRecipe(r *rand.Rand) recipe {
	c := exactRecipe(r)
	c.swaps, c.deletes = 0.3*float64(r.IntN(2)), 0.2*float64(r.IntN(2))
	return c
}

// TestExact: a verdict while requests end equals the one from trying every order later.
func TestExact(t *testing.T) {
	var s tally
	r := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		s.compare(t, r, exactRecipe(r), true, linearizable)
		if t.Failed() {
			return
		}
	}
	if s.wrong < 300 || s.histories-s.wrong < 300 {
		t.Errorf("%d of %d histories are wrong: that tests too little", s.wrong, s.histories)
	}
}

// TestSound: with swaps and deletes, no linearizable history counts as a violation.
func TestSound(t *testing.T) {
	var s tally
	r := rand.New(rand.NewPCG(3, 4))
	for range 4000 {
		s.compare(t, r, soundRecipe(r), false, linearizable)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d violations were missed", s.missed, s.wrong)
	if s.wrong < 300 || s.missed > s.wrong/2 {
		t.Errorf("%d of %d violations were missed", s.missed, s.wrong)
	}
}

// TestManyZones: the search among many values at once finds the same as comparing all pairs,
// whether the values are in no order or roughly sorted by time.
func TestManyZones(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var w sweeper
	conflicts := 0
	for run := range 20000 {
		zones := make([]zone, fewZones+1+r.IntN(10+run%2*40))
		for n := range zones {
			at := r.Int64N(400)
			if run%2 == 1 {
				at = int64(n)*60 + r.Int64N(60)
				if r.IntN(20) == 0 {
					at = r.Int64N(int64(len(zones)) * 60)
				}
			}
			zones[n] = zone{number: int64(n), f: at + r.Int64N(30), s: at + r.Int64N(30), flags: written}
		}
		want := false
		for a := range zones {
			for b := range a {
				want = want || zones[a].f < zones[b].s && zones[b].f < zones[a].s
			}
		}
		a, b, got := w.conflict(zones)
		if got != want || got && !zones[a].excludes(&zones[b]) {
			t.Fatalf("zones exclude each other is %v, found %v (%d and %d) in %+v", want, got, a, b, zones)
		}
		if got {
			conflicts++
		}
	}
	if conflicts < 1000 || conflicts > 19000 {
		t.Errorf("%d of 20000 have conflicts: that tests too little", conflicts)
	}
}

// TestMerge: new zones are brought among those that were there, by number.
func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	j := New(Options{})
	for range 2000 {
		numbers := r.Perm(40)[:1+r.IntN(40)]
		known := r.IntN(len(numbers) + 1)
		slices.Sort(numbers[:known])
		slices.Sort(numbers[known:])
		zones := make([]zone, len(numbers))
		for n, number := range numbers {
			zones[n] = zone{number: int64(number), sent: int64(number)}
		}
		j.merge(zones, known)
		slices.Sort(numbers)
		for n := range zones {
			if zones[n].number != int64(numbers[n]) || zones[n].sent != zones[n].number {
				t.Fatalf("%d known zones and %d others: got %+v", known, len(zones)-known, zones)
			}
		}
	}
}
