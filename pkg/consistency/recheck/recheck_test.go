package recheck

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/consistency"
)

const (
	ok      = consistency.OK
	failed  = consistency.Failed
	unknown = consistency.Unknown
	missing = consistency.NotFound
)

func read(request, value, sent, end int64) consistency.Op {
	return consistency.Op{Request: request, Read: value, Known: true, Sent: sent, End: end, Kind: consistency.Read}
}

func put(request, sent, end int64, as consistency.Outcome) consistency.Op {
	return consistency.Op{Request: request, Sent: sent, End: end, Kind: consistency.Write, Outcome: as}
}

func swap(request, value, sent, end int64, as consistency.Outcome) consistency.Op {
	return consistency.Op{Request: request, Read: value, Known: true, Sent: sent, End: end, Kind: consistency.Swap, Outcome: as}
}

func txn(request, version, sent, end int64, as consistency.Outcome) consistency.Op {
	return consistency.Op{Request: request, Read: version, Known: true, Sent: sent, End: end, Kind: consistency.Guarded, Outcome: as}
}

func remove(request, sent, end int64, as consistency.Outcome) consistency.Op {
	return consistency.Op{Request: request, Sent: sent, End: end, Kind: consistency.Delete, Outcome: as}
}

func notFound(request, sent, end int64) consistency.Op {
	return consistency.Op{Request: request, Sent: sent, End: end, Kind: consistency.Read, Outcome: missing}
}

// TestCheck: each request kind and outcome has its meaning.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		want  Verdict
		until int64 // 0 is the whole history
		ops   []consistency.Op
	}{
		"nothing":                      {OK, 0, nil},
		"the first value":              {OK, 0, []consistency.Op{read(1, -7, 1, 2)}},
		"a read of a write":            {OK, 0, []consistency.Op{put(1, 1, 2, ok), read(2, 1, 3, 4)}},
		"a stale read":                 {Violation, 0, []consistency.Op{put(1, 1, 2, ok), read(2, -7, 3, 4)}},
		"a concurrent read":            {OK, 0, []consistency.Op{put(1, 1, 5, ok), read(2, -7, 3, 4)}},
		"two orders":                   {Violation, 0, []consistency.Op{put(1, 1, 10, ok), put(2, 1, 10, ok), read(3, 1, 11, 12), read(4, 2, 13, 14)}},
		"a failed write is read":       {Violation, 0, []consistency.Op{put(1, 1, 2, failed), read(2, 1, 3, 4)}},
		"a failed write":               {OK, 0, []consistency.Op{put(1, 1, 2, failed), read(2, -7, 3, 4)}},
		"an unknown write is read":     {OK, 0, []consistency.Op{put(1, 1, 2, unknown), read(2, -7, 3, 4), read(3, 1, 5, 6)}},
		"an unknown write goes back":   {Violation, 0, []consistency.Op{put(1, 1, 2, unknown), read(3, 1, 5, 6), read(2, -7, 7, 8)}},
		"a value that nobody wrote":    {Violation, 0, []consistency.Op{read(1, 99, 1, 2)}},
		"a value of another key":       {Violation, 0, []consistency.Op{read(1, consistency.NoRequest, 1, 2)}},
		"a missing key":                {Violation, 0, []consistency.Op{notFound(1, 1, 2)}},
		"a deleted key":                {OK, 0, []consistency.Op{remove(1, 1, 2, ok), notFound(2, 3, 4)}},
		"a value after its delete":     {Violation, 0, []consistency.Op{remove(1, 1, 2, ok), read(2, -7, 3, 4)}},
		"an unknown delete":            {OK, 0, []consistency.Op{remove(1, 1, 2, unknown), read(2, -7, 3, 4), notFound(3, 5, 6)}},
		"a failed delete":              {Violation, 0, []consistency.Op{remove(1, 1, 2, failed), notFound(3, 5, 6)}},
		"swaps in turn":                {OK, 0, []consistency.Op{swap(1, -7, 1, 2, ok), swap(2, 1, 3, 4, ok), read(3, 2, 5, 6)}},
		"two swaps of a value":         {Violation, 0, []consistency.Op{swap(1, -7, 1, 9, ok), swap(2, -7, 1, 9, ok)}},
		"a failed swap that read":      {Violation, 0, []consistency.Op{put(1, 1, 2, ok), swap(2, -7, 3, 4, failed)}},
		"an unknown swap that changed": {OK, 0, []consistency.Op{swap(1, -7, 1, 2, unknown), read(2, 1, 3, 4)}},
		"an unknown swap that did not": {OK, 0, []consistency.Op{put(1, 1, 2, ok), swap(2, -7, 3, 4, unknown), read(3, 1, 5, 6)}},
		"transactions in turn":         {OK, 0, []consistency.Op{txn(1, 1, 1, 2, ok), txn(2, 2, 3, 4, ok), read(3, 2, 5, 6)}},
		"two of one version":           {Violation, 0, []consistency.Op{txn(1, 1, 1, 9, ok), txn(2, 1, 1, 9, ok)}},
		"a lesser version later":       {Violation, 0, []consistency.Op{txn(1, 5, 1, 2, ok), txn(2, 4, 3, 4, ok)}},
		"a failed transaction":         {OK, 0, []consistency.Op{txn(1, 5, 1, 2, ok), txn(2, 5, 3, 4, failed)}},
		"an unknown transaction":       {OK, 0, []consistency.Op{txn(1, 5, 1, 2, unknown), read(2, 1, 3, 4), txn(3, 6, 5, 6, ok)}},
		"a cut write may have written": {OK, 10, []consistency.Op{put(1, 1, 20, ok), read(2, 1, 3, 4)}},
		"a cut write may not have":     {OK, 10, []consistency.Op{put(1, 1, 20, ok), read(2, -7, 3, 4)}},
		"the answer of a cut read":     {OK, 10, []consistency.Op{read(1, 99, 1, 20)}},
		"a cut read of a missing key":  {OK, 10, []consistency.Op{notFound(1, 1, 20)}},
		"a violation before the end":   {Violation, 10, []consistency.Op{put(1, 1, 2, ok), read(2, -7, 3, 4), put(3, 1, 20, ok)}},
		"unknown reads say what is read": {Violation, 0, []consistency.Op{put(1, 1, 2, ok), func() consistency.Op {
			o := read(2, -7, 3, 4)
			o.Outcome = unknown
			return o
		}()}},
	} {
		h := &consistency.History{Initial: -7, Until: consistency.Whole, Ops: c.ops}
		if c.until > 0 {
			h.Until = c.until
		}
		if got, err := Check(h, 0); got != c.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

// TestRefused: an incomplete history has no verdict.
func TestRefused(t *testing.T) {
	for _, h := range []*consistency.History{{Missing: 1}, {Initial: consistency.Unstated}} {
		if got, err := Check(h, 0); got != Unknown || err == nil {
			t.Errorf("%+v: %s, %v", h, got, err)
		}
	}
}

// history returns requests on one register with some lies. Each took effect at a moment between
// when it was sent and ended.
func history(r *rand.Rand, requests int, lies float64) (ops []consistency.Op) {
	values := []int64{-7}
	now := int64(0)
	for n := range int64(requests) {
		now += r.Int64N(20)
		o := consistency.Op{Request: n + 1, Client: int32(n), Sent: now - r.Int64N(40), End: now + r.Int64N(40)}
		last := values[len(values)-1]
		switch {
		case r.IntN(2) == 0:
			o.Kind, o.Read, o.Known = consistency.Read, last, true
			if r.Float64() < lies {
				o.Read = values[max(0, len(values)-1-r.IntN(4))]
			}
		case r.IntN(20) == 0:
			if o.Kind, o.Outcome = consistency.Write, unknown; r.IntN(2) == 0 {
				values = append(values, o.Request)
			}
		default:
			o.Kind = consistency.Write
			values = append(values, o.Request)
		}
		ops = append(ops, o)
	}
	return ops
}

// TestAgrees: the verdict on recorded requests agrees with the judge that recorded them.
func TestAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	wrong, cut := 0, 0
	for range 400 {
		ops := history(r, 60+r.IntN(200), 0.02*float64(r.IntN(2)))
		slices.SortFunc(ops, func(a, b consistency.Op) int { return int(a.End - b.End) })
		j := consistency.New(consistency.Options{Initial: func(int64) int64 { return -7 }, Sampled: 1})
		for from := 0; from < len(ops); from += 20 {
			to := min(from+20, len(ops))
			before := ops[to-1].End
			for _, o := range ops[to:] {
				before = min(before, o.Sent)
			}
			j.Second(ops[from:to], before)
		}
		j.Finish()
		h := j.Sampled()[0]
		got, err := Check(&h, time.Minute)
		if want := j.Totals().Violations.All() > 0; err != nil || (got == Violation) != want || h.Violations > 0 != want {
			t.Fatalf("the verdict is %s, %v; the judge has %+v: %+v", got, err, j.Totals(), h)
		}
		if got == Violation {
			wrong++
		}
		// A record that ends earlier has no violation that the whole has not.
		h.Until = h.Ops[len(h.Ops)/2].End
		h.Ops = slices.DeleteFunc(h.Ops, func(o consistency.Op) bool { return o.Sent > h.Until })
		switch half, err := Check(&h, time.Minute); {
		case err != nil, half == Violation && got != Violation:
			t.Fatalf("the verdict on a half is %s, %v; on the whole %s", half, err, got)
		case half == OK && got == Violation:
			cut++
		}
	}
	if wrong < 50 || wrong > 350 || cut < 10 {
		t.Errorf("%d of 400 histories are wrong, %d of them in their second half alone: that tests too little", wrong, cut)
	}
}

// hardWrites is the number of concurrent writes in hard. Their sets are 2 to this power.
const hardWrites = 64

// hard returns a history whose violation shows only after all orders of concurrent writes are tried.
func hard() *consistency.History {
	h := &consistency.History{Initial: -1, Until: consistency.Whole}
	request := int64(0)
	add := func(o consistency.Op) {
		request++
		o.Request = request
		h.Ops = append(h.Ops, o)
	}
	for range hardWrites {
		add(consistency.Op{Sent: 1, End: 1000, Kind: consistency.Write})
	}
	for value := range int64(hardWrites) {
		add(consistency.Op{Sent: 2, End: 1000, Kind: consistency.Read, Read: value + 1, Known: true})
	}
	add(consistency.Op{Sent: 2000, End: 2001, Kind: consistency.Read, Read: -1, Known: true})
	return h
}

// TestHard: a search that takes too long ends without a verdict.
func TestHard(t *testing.T) {
	if got, err := Check(hard(), 50*time.Millisecond); got != Unknown || err != nil {
		t.Errorf("%s, %v, want no verdict", got, err)
	}
}
