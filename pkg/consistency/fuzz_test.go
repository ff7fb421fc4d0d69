package consistency

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// FuzzHostile passes requests that no engine makes to a judge: numbers that are negative, were
// never written or come from other runs, ends before they were sent, moments that decrease. Every
// request is counted once, and memory is bounded.
func FuzzHostile(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\xff\xfe\x80"), uint8(0))
	f.Add(make([]byte, 200), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, options uint8) {
		initial := []int64{Absent, Unstated, -1, math.MaxInt64}[options>>3&3]
		j := New(Options{
			Deletes: options&1 != 0, Weaker: options&2 != 0, Remembered: 4, MostUnknown: 2, MostKeys: 3,
			Initial: func(int64) int64 { return initial },
		})
		given := int64(0)
		for len(data) >= 9 {
			n := min(len(data)/8, 1+int(data[0]%5))
			batch := make([]Op, 0, n)
			for _, b := range slices.Collect(slices.Chunk(data[1:1+(n-1)*8+7], 8)) {
				if len(b) == 8 {
					batch = append(batch, hostile(b))
				}
			}
			before := int64(int8(data[8])) * 3
			data = data[min(len(data), n*8):]
			given += int64(len(batch))
			j.Second(batch, before)
		}
		j.Finish()
		totals := j.Totals()
		if totals.Operations != given || totals.Judged+totals.Unjudged+totals.Unnumbered != given {
			t.Fatalf("%d requests were given: %+v", given, totals)
		}
		open := 0
		for at := range j.keys.count {
			open += len(j.keys.at(int32(at)).zones)
		}
		if open > int(given)*2+3 || len(j.unknown) > 2 || j.memory.held() > 4 || j.keys.count > 3 {
			t.Fatalf("%d values are open, %d unknown and %d remembered of %d keys after %d requests", open, len(j.unknown), j.memory.held(), j.keys.count, given)
		}
		for key := range int64(4) {
			j.ReadBack(key, Absent)
			j.ReadBack(key, -1)
		}
		for _, w := range j.Witnesses() {
			_ = w.Words(0)
		}
	})
}

// hostile makes a request from eight bytes.
func hostile(b []byte) Op {
	numbers := []int64{Absent, Unstated, math.MaxInt64, -1, 0, 1, 2, 3}
	number := func(x byte) int64 {
		if x < 16 {
			return numbers[x%8]
		}
		return int64(x % 8)
	}
	return Op{
		Key: int64(b[0] % 4), Request: number(b[1]), Read: number(b[2]), Sent: int64(int8(b[3])), End: int64(int8(b[3])) + int64(int8(b[4])),
		Kind: Kind(b[5] % 7), Outcome: Outcome(b[6] % 5), Known: b[7]&1 != 0, Client: int32(b[7] >> 1),
	}
}

// FuzzVerdict compares the verdict on any history with up to 12 writes and reads with every order
// tried.
func FuzzVerdict(f *testing.F) {
	f.Add([]byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"), uint8(3))
	f.Add([]byte("\x81\x10\x20\x02\x12\x22\x83\x14\x24\x04\x16\x26\x85\x18\x28"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		var h []Op
		for b := range slices.Chunk(data, 3) {
			if len(b) < 3 || len(h) == 12 {
				break
			}
			o := Op{Request: int64(len(h) + 1), Sent: int64(b[1] % 64), Client: int32(len(h))}
			o.End = o.Sent + int64(b[2]%32)
			if b[0]&1 == 0 {
				o.Kind, o.Outcome = Write, []Outcome{OK, OK, Failed, Unknown}[b[0]>>1&3]
			} else if o.Kind, o.Read, o.Known = Read, int64(b[0]>>1%13), true; o.Read == 0 {
				o.Read = -1
			}
			h = append(h, o)
		}
		slices.SortStableFunc(h, func(a, b Op) int { return cmp.Compare(a.End, b.End) })
		j := judgeOf(-1, false)
		for from := 0; from < len(h); {
			to := min(len(h), from+1+int(cut%4))
			before := int64(never)
			for _, o := range h[to:] {
				before = min(before, o.Sent)
			}
			j.Second(h[from:to], before)
			from = to
		}
		j.Finish()
		totals := j.Totals()
		if want, got := linearizable(h, -1), totals.Violations.All() == 0; got != want {
			t.Fatalf("linearizable is %v, the judge says %v: %+v\n%+v", want, got, totals, h)
		}
		checkWitnesses(t, j, h)
	})
}
