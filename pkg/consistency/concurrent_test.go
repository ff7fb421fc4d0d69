package consistency

import "testing"

// TestOneWrongAnswer: two values are written concurrently, and one read of them is wrong. It is
// counted once, whichever write was sent first. Later reads of the value that stayed are right, and
// so is that value when it is read back.
func TestOneWrongAnswer(t *testing.T) {
	for _, late := range []bool{false, true} { // the wrong read comes in its own batch
		for first, stayed := range []int64{2, 1} { // the value that stayed was sent second, and first
			j := judgeOf(Absent, false)
			gone := 3 - stayed
			read := func(request, number, at int64) Op {
				return Op{Request: request, Sent: at, End: at + 5, Kind: Read, Known: true, Read: number}
			}
			batch := []Op{{Request: 1, Sent: 10, End: 50, Kind: Write}, {Request: 2, Sent: 11, End: 51, Kind: Write}, read(3, gone, 20), read(4, stayed, 30)}
			if late {
				j.Second(batch, 60)
				batch = nil
			}
			j.Second(append(batch, read(5, gone, 70)), 80)
			for at := int64(100); at < 200; at += 10 {
				j.Second([]Op{read(at, stayed, at)}, at+8)
			}
			if got := j.Totals().Violations; got.All() != 1 || got.Stale != 1 {
				t.Errorf("case %d: one wrong answer is counted as %v", first, got)
			}
			for _, w := range j.Witnesses() {
				if err := w.Check(); err != nil {
					t.Errorf("case %d: %v", first, err)
				}
			}
			if j.Finish(); j.ReadBack(0, stayed) != Kept || j.ReadBack(0, gone) != Older {
				t.Errorf("case %d: the value that stayed is held %d and the other %d, want kept and older", first, j.ReadBack(0, stayed), j.ReadBack(0, gone))
			}
		}
	}
}

// TestOneWrongAnswerInOrder: reads of a value that was surely replaced are wrong, however many
// there are.
func TestOneWrongAnswerInOrder(t *testing.T) {
	j := judgeOf(Absent, false)
	read := func(request, number, at int64) Op {
		return Op{Request: request, Sent: at, End: at + 5, Kind: Read, Known: true, Read: number}
	}
	j.Second([]Op{{Request: 1, Sent: 10, End: 20, Kind: Write}, {Request: 2, Sent: 30, End: 40, Kind: Write}, read(3, 1, 50), read(4, 1, 60), read(5, 2, 70)}, 80)
	if j.Finish(); j.Totals().Violations.All() != 2 || j.ReadBack(0, 2) != Kept || j.ReadBack(0, 1) != Older {
		t.Errorf("two wrong answers are counted as %v, and the last value is held %d", j.Totals().Violations, j.ReadBack(0, 2))
	}
}

// TestForgivenWitness: a value is read again. Its successor lost the requests that showed their
// order, because they took part in another violation. The read is a stale one, and its witness
// holds.
func TestForgivenWitness(t *testing.T) {
	j := judgeOf(Absent, false)
	read := func(request, number, at int64) Op {
		return Op{Request: request, Sent: at, End: at + 5, Kind: Read, Known: true, Read: number}
	}
	j.Second([]Op{{Request: 1, Sent: 10, End: 50, Kind: Write}, {Request: 2, Sent: 11, End: 51, Kind: Write}, read(3, 2, 60)}, 68)
	j.Second([]Op{{Request: 4, Sent: 70, End: 75, Kind: Write}, read(5, 4, 80), read(6, 2, 90)}, 98)
	j.Second([]Op{read(7, 1, 200)}, 210)
	j.Finish()
	if got := j.Totals().Violations; got.Stale != 2 || got.All() != 2 {
		t.Fatalf("two stale reads are counted as %v", got)
	}
	for n, w := range j.Witnesses() {
		if err := w.Check(); err != nil || (w.Newer == nil) != (n == 1) {
			t.Errorf("%s (%+v): %v", w.Words(0), w, err)
		}
	}
	if held := j.ReadBack(0, 1); held != Older {
		t.Errorf("the first value is held %d, want older", held)
	}
}
