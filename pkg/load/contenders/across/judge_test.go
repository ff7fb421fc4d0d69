package across

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock shows a time at most off away from the common one.
func clock(off int64) Clock {
	return func(ns int64) (int64, int64, bool) { return ns - off, ns + off, true }
}

func unknown(int64) (int64, int64, bool) { return 0, 0, false }

// Holdings in two parts overlap, do not, or may, with clock error 10.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		a, b Holding
		want Verdict
	}{
		{"one after the other", Holding{1, 0, 100, 1, false}, Holding{1, 120, 200, 2, false}, Verdict{}},
		{"within the error", Holding{1, 0, 100, 1, false}, Holding{1, 119, 200, 2, false}, Verdict{Unsure: 1}},
		{"just not beyond the error", Holding{1, 0, 100, 1, false}, Holding{1, 80, 200, 2, false}, Verdict{Unsure: 1}},
		{"beyond the error", Holding{1, 0, 100, 1, false}, Holding{1, 79, 200, 2, false}, Verdict{Overlaps: 1}},
		{"one inside the other", Holding{1, 0, 200, 1, false}, Holding{1, 79, 100, 2, false}, Verdict{Overlaps: 1}},
		{"shorter than the error", Holding{1, 0, 200, 1, false}, Holding{1, 100, 110, 2, false}, Verdict{Overlaps: 1}},
		{"both shorter than the error", Holding{1, 100, 105, 1, false}, Holding{1, 100, 105, 2, false}, Verdict{Unsure: 1}},
		{"other names", Holding{1, 0, 200, 1, false}, Holding{2, 79, 100, 2, false}, Verdict{}},
		{"a stop", Holding{1, 0, 200, 1, true}, Holding{1, 79, 100, 2, false}, Verdict{Unsure: 1}},
		{"one fence for two at once", Holding{1, 0, 100, 1, false}, Holding{1, 100, 200, 1, false}, Verdict{Overlaps: 1}},
		{"one fence for two in turn", Holding{1, 0, 100, 1, false}, Holding{1, 120, 200, 1, false}, Verdict{Disorder: 1}},
		{"an old fence", Holding{1, 0, 100, 2, false}, Holding{1, 120, 200, 1, false}, Verdict{Disorder: 1}},
		{"an old fence after a stop", Holding{1, 0, 100, 2, true}, Holding{1, 120, 200, 1, false}, Verdict{}},
		{"an old fence in an unknown order", Holding{1, 0, 100, 2, false}, Holding{1, 119, 200, 1, false}, Verdict{Unsure: 1}},
	} {
		tc.want.Compared, tc.want.Error = 2, 10
		for n, parts := range [][]Part{{{[]Holding{tc.a}, clock(10)}, {[]Holding{tc.b}, clock(10)}}, {{[]Holding{tc.b}, clock(10)}, {[]Holding{tc.a}, clock(10)}}} {
			if diff := cmp.Diff(tc.want, Judge(parts)); diff != "" {
				t.Errorf("%s, order %d (-want +got):\n%s", tc.name, n, diff)
			}
		}
		// The part itself judges its own.
		if got := Judge([]Part{{[]Holding{tc.a, tc.b}, clock(10)}, {nil, unknown}}); got != (Verdict{Compared: 2, Error: 10}) {
			t.Errorf("%s, of one part: %+v", tc.name, got)
		}
		if got := Judge([]Part{{[]Holding{tc.a}, clock(10)}, {[]Holding{tc.b}, unknown}}); got != (Verdict{Compared: 1, Unsure: 1, Error: 10}) {
			t.Errorf("%s, without a clock: %+v", tc.name, got)
		}
	}
}

// Locks change hands between four parts, whose clocks are wrong by up to their bounds. Nothing is
// found in an honest store. All holdings that began while another certainly went on are found.
func TestJudgeMany(t *testing.T) {
	t.Parallel()
	const names, turns, wrong = 5, 2000, 40
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		parts := make([]Part, 4)
		off := make([]int64, len(parts))
		for i := range parts {
			off[i] = random.Int64N(2*wrong+1) - wrong
			parts[i].Clock = clock(wrong)
		}
		planted := int64(0)
		for name := range int64(names) {
			at, last := int64(0), -1
			for turn := range int64(turns) {
				part := random.IntN(len(parts))
				h := Holding{Name: name, Acquired: at, Sent: at + 200 + random.Int64N(50), Fence: turn}
				if seed%2 == 1 && last >= 0 && part != last && random.IntN(20) == 0 {
					h.Acquired -= 2*wrong + 31 // the one before ended up to 30 before
					planted++
				}
				h.Acquired, h.Sent = h.Acquired+off[part], h.Sent+off[part]
				parts[part].Held = append(parts[part].Held, h)
				at, last = h.Sent-off[part]+random.Int64N(30), part
			}
		}
		for i := range parts { // as they are remembered: in the order they ended
			slices.SortFunc(parts[i].Held, func(a, b Holding) int { return int(a.Sent - b.Sent) })
		}
		got := Judge(parts)
		if got.Compared != names*turns || got.Disorder != 0 || got.Error != time.Duration(wrong) {
			t.Errorf("seed %d: %+v", seed, got)
		}
		// One within the clock error may be unsure.
		if got.Overlaps > planted || got.Overlaps+got.Unsure < planted || planted == 0 && got.Overlaps > 0 || planted > 0 && got.Overlaps < planted/10 {
			t.Errorf("seed %d: %d overlaps and %d unsure ones were found, %d are there", seed, got.Overlaps, got.Unsure, planted)
		}
	}
}

// A store that gives one lock to everybody is judged in little time.
func TestJudgeEverybody(t *testing.T) {
	t.Parallel()
	parts := []Part{{Clock: clock(1)}, {Clock: clock(1)}}
	for n := range int64(100_000) {
		p := &parts[n%2]
		p.Held = append(p.Held, Holding{Name: 1, Acquired: n, Sent: 1e9, Fence: n})
	}
	if got := Judge(parts); got.Overlaps < mostOpen-2 || got.Overlaps+got.Unsure < 99_000 {
		t.Errorf("%+v", got)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var want []Holding
	for range 100_000 {
		h := Holding{Name: random.Int64N(1000), Acquired: random.Int64() - 1<<62, Fence: random.Int64() - 1<<62, Doubtful: random.IntN(2) == 0}
		h.Sent = h.Acquired + random.Int64N(1e9)
		want = append(want, h)
	}
	pieces := Encode(want)
	if len(pieces) < 2 {
		t.Fatalf("%d pieces, want some", len(pieces))
	}
	var got []Holding
	for _, piece := range pieces {
		var err error
		if got, err = Decode(got, piece, len(want)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Decode(nil, pieces[0], 10); err == nil {
		t.Error("too many holdings must be an error")
	}
	if _, err := Decode(nil, pieces[0][:len(pieces[0])-1], len(want)); err == nil {
		t.Error("a piece that was cut must be an error")
	}
	if len(Encode(nil)) != 0 {
		t.Error("no holdings need no piece")
	}
}

// FuzzDecode: whatever a part sends can be judged.
func FuzzDecode(f *testing.F) {
	for _, piece := range Encode([]Holding{{1, 5, 9, 2, false}, {1, 12, 15, 3, true}}) {
		f.Add(piece)
	}
	f.Fuzz(func(t *testing.T, piece []byte) {
		held, err := Decode(nil, piece, 100)
		if len(held) > 100 || err == nil && len(piece) > 0 && len(held) == 0 {
			t.Fatalf("%d holdings, error %v", len(held), err)
		}
		Judge([]Part{{held, clock(3)}, {held, clock(5)}})
	})
}
