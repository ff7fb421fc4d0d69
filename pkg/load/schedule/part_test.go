package schedule

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestPartNumbers: each number is in one part, at whatever number a step begins.
func TestPartNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.IntRange(2, 9).Draw(t, "parts")
		first := rapid.Int64Range(-1000, 1000).Draw(t, "first")
		n := rapid.Int64Range(0, 200).Draw(t, "numbers")
		owner := make([]int, n)
		for i := range owner {
			owner[i] = -1
		}
		for g := range of {
			p := Part{Index: g, Of: of}.From(first)
			if err := p.Check(); err != nil {
				t.Fatalf("part %d of %d from %d: %v", g, of, first, err)
			}
			for k := range p.Count(n) {
				i := p.Number(k)
				if i >= n || owner[i] >= 0 {
					t.Fatalf("number %d of %d is in parts %d and %d", i, n, owner[min(i, n-1)], g)
				}
				owner[i] = g
				if number := first + i; ((number%int64(of))+int64(of))%int64(of) != int64(g) {
					t.Fatalf("number %d is in part %d of %d", number, g, of)
				}
			}
		}
		for i, g := range owner {
			if g < 0 {
				t.Fatalf("number %d is in no part of %d", i, of)
			}
		}
	})
}

func TestPartCheck(t *testing.T) {
	for _, p := range []Part{{}, {0, 1}, {3, 4}} {
		if err := p.Check(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, p := range []Part{{1, 0}, {1, 1}, {4, 4}, {-1, 4}, {0, -1}} {
		if err := p.Check(); err == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	if n := (Part{2, 3}).Count(math.MaxInt64); n < math.MaxInt64/4 {
		t.Errorf("a part of a schedule without a bound has %d requests", n)
	}
}

// drawSmall draws options as drawOptions does, with at most some thousand requests.
func drawSmall(t *rapid.T) Options {
	o := drawOptions(t)
	o.Rate, o.RateEnd, o.Requests = min(o.Rate, 400), min(o.RateEnd, 400), min(o.Requests, 1000)
	return o
}

// TestPartsAreTheWhole: the requests of all parts, their due times, and the number due before any
// time, are the same as in the schedule without parts.
func TestPartsAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawSmall(t)
		due := allDue(t, New(o))
		of := rapid.IntRange(2, 5).Draw(t, "parts")
		parts := make([]Schedule, of)
		seen := 0
		for g := range of {
			o.Part = Part{Index: g, Of: of}
			s := New(o)
			own := allDue(t, s)
			for n, at := range own {
				if i := o.Part.Number(int64(n)); i >= int64(len(due)) || due[i] != at {
					t.Fatalf("%+v: request %d of the part is number %d and due at %d, but the whole has %d requests", o, n, i, at, len(due))
				}
				seen++
			}
			s.Next()
			if s.Used() != int64(len(own)) {
				t.Fatalf("%+v: %d requests are due, %d numbers are used", o, len(own), s.Used())
			}
			parts[g] = New(o)
		}
		if seen != len(due) {
			t.Fatalf("%+v: the parts have %d requests, the whole %d", o, seen, len(due))
		}
		o.Part = Part{}
		whole := New(o)
		at := int64(0)
		for range 20 {
			at += rapid.Int64Range(0, int64(Foresight)).Draw(t, "time on")
			before, last := whole.Due(at)
			sum := int64(0)
			for g, s := range parts {
				n, end := s.Due(at)
				if end != last {
					t.Fatalf("%+v: part %d of %d ends at %d, the whole at %d", o, g, of, end, last)
				}
				sum += n
			}
			if sum != before {
				t.Fatalf("%+v: %d requests of the parts are due before %d, %d of the whole", o, sum, at, before)
			}
		}
	})
}

// TestPartsLeaveTheWhole: the requests that parts give up at once and hand out afterwards are
// the rest of the whole.
func TestPartsLeaveTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawSmall(t)
		due := allDue(t, New(o))
		of := rapid.IntRange(2, 5).Draw(t, "parts")
		at := rapid.Int64Range(0, 3e9).Draw(t, "left before")
		taken := make([]int, len(due))
		for g := range of {
			o.Part = Part{Index: g, Of: of}
			s := New(o)
			for range rapid.IntRange(0, 5).Draw(t, "taken before") {
				if n, _, ok := s.Next(); ok {
					taken[o.Part.Number(n)]++
				}
			}
			from, to := s.(Leaver).Leave(at)
			for n := from; n < to; n++ {
				i := o.Part.Number(n)
				taken[i]++
				if due[i] >= at {
					t.Fatalf("%+v: request %d, due at %d, was left at %d", o, i, due[i], at)
				}
			}
			for n, when, ok := s.Next(); ok; n, when, ok = s.Next() {
				taken[o.Part.Number(n)]++
				if when < at {
					t.Fatalf("%+v: a request due at %d was not left at %d", o, when, at)
				}
			}
		}
		for i, n := range taken {
			if n != 1 {
				t.Fatalf("%+v: request %d was taken %d times", o, i, n)
			}
		}
	})
}

// TestClosedLoopParts: closed loop requests are divided exactly evenly.
func TestClosedLoopParts(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 100, 101} {
		sum := int64(0)
		for g := range 3 {
			s := New(Options{Requests: n, Part: Part{Index: g, Of: 3}})
			due := allDue(t, s)
			sum += int64(len(due))
			if s.Used() != int64(len(due)) {
				t.Errorf("part %d of %d requests: %d numbers used, %d handed out", g, n, s.Used(), len(due))
			}
		}
		if sum != n {
			t.Errorf("the parts of %d requests have %d", n, sum)
		}
	}
}
