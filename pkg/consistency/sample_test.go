package consistency

import (
	"slices"
	"testing"
)

// TestSampled: the requests recorded for a key are all that were sent up to a moment; later ones
// are left out.
func TestSampled(t *testing.T) {
	s := &store{clients: 16, keys: 50, writes: 0.5, unknown: 0.01, failed: 0.01, swaps: 0.1}
	j := s.judge(Options{Sampled: 3})
	j.sample.most = 100
	sent := map[int64][]int64{}
	for range 50 {
		s.run(j, 1000)
		for _, o := range s.batch {
			sent[o.Key] = append(sent[o.Key], o.Sent)
		}
	}
	s.finish(j)
	for _, o := range s.batch {
		sent[o.Key] = append(sent[o.Key], o.Sent)
	}
	list := j.Sampled()
	if len(list) != 3 {
		t.Fatalf("%d keys have their requests recorded, want 3", len(list))
	}
	for _, h := range list {
		want := 0
		for _, at := range sent[h.Key] {
			if at <= h.Until {
				want++
			}
		}
		if h.Initial != -1-h.Key || h.Until == Whole || h.Missing > 0 || len(h.Ops) != want || want < 100 || want > 200 {
			t.Errorf("key %d has %d of %d requests up to %d, and %d are missing", h.Key, len(h.Ops), want, h.Until, h.Missing)
		}
		if !slices.IsSortedFunc(h.Ops, func(a, b Op) int { return int(a.Sent - b.Sent) }) {
			t.Errorf("the requests on key %d are not in the order in which they were sent", h.Key)
		}
	}
}

// TestSampledWhole: for a key with few requests, all are recorded.
func TestSampledWhole(t *testing.T) {
	s := &store{clients: 16, keys: 4, writes: 0.5, lie: stepBack, every: 20}
	j := s.judge(Options{Sampled: 9})
	for range 10 {
		s.run(j, 100)
	}
	s.finish(j)
	requests, violations := 0, int64(0)
	for _, h := range j.Sampled() {
		requests, violations = requests+len(h.Ops), violations+h.Violations
		if h.Until != Whole || h.Missing > 0 {
			t.Errorf("key %d: %d requests up to %d, %d missing", h.Key, len(h.Ops), h.Until, h.Missing)
		}
	}
	if totals := j.Totals(); requests != 1000 || violations != totals.Violations.All() || violations == 0 {
		t.Errorf("%d requests with %d violations are recorded, the judge has %+v", requests, violations, totals)
	}
}

// TestSampledLate: a request that comes after the end of its history is missing from it, and
// recorded requests are bounded.
func TestSampledLate(t *testing.T) {
	j := New(Options{Sampled: 1})
	j.sample.most = 2
	write := func(request, sent, end int64) Op { return Op{Request: request, Sent: sent, End: end, Kind: Write} }
	j.Second([]Op{write(1, 1, 2), write(2, 3, 9)}, 10)
	j.Second([]Op{write(3, 5, 11), write(4, 12, 13)}, 20)
	if h := j.Sampled()[0]; h.Until != 9 || len(h.Ops) != 2 || h.Missing != 1 {
		t.Errorf("the history is %+v, want one request missing", h)
	}
	j = New(Options{Sampled: 1})
	batch := make([]Op, 2*mostSampled)
	for n := range batch {
		batch[n] = write(int64(n), 1, int64(2+n))
	}
	j.Second(batch, 0)
	if h := j.Sampled()[0]; len(h.Ops) != mostSampled || h.Missing != int64(len(batch)-mostSampled) {
		t.Errorf("%d requests are recorded and %d missing, want at most %d", len(h.Ops), h.Missing, mostSampled)
	}
}
