package consistency

import "testing"

// planted is a lie with the violation classes that show it, which are empty if it is legal.
type planted struct {
	lie     lie
	deletes float64
	swaps   float64
	found   []Class
}

func plantedLies() []planted {
	return []planted{
		{lie: lostAck, found: []Class{StaleValue}},
		{lie: staleRead, found: []Class{StaleValue}},
		{lie: doubleSwap, swaps: 0.3, found: []Class{DoubleSwap, StaleValue}},
		{lie: phantom, found: []Class{Phantom, StaleValue}},
		{lie: stepBack, found: []Class{StaleValue}},
		{lie: resurrect, deletes: 0.1, found: []Class{ResurrectedValue, StaleValue}},
		{lie: otherKey, found: []Class{Phantom}},
		{lie: lateApplied},
	}
}

// find runs a store with a lie until a violation is found or most requests were made. It also
// returns the number of requests that it made.
func (p planted) find(most int) (*store, *Judge, int) {
	s := &store{clients: 16, keys: 50, writes: 0.4, unknown: 0.001, failed: 0.001, swaps: p.swaps, deletes: p.deletes, lie: p.lie, every: 2000}
	j := s.judge(Options{})
	for made := 0; made < most; {
		s.run(j, 1000)
		made += 1000
		if totals := j.Totals(); totals.Violations.All() > 0 {
			return s, j, made
		}
	}
	s.finish(j)
	return s, j, most
}

// TestLies: each planted lie is found, with a witness in its class, and the legal one is not.
func TestLies(t *testing.T) {
	for _, p := range plantedLies() {
		t.Run(string(p.lie), func(t *testing.T) {
			most := 1_000_000
			if p.found == nil {
				most = 200_000
			}
			s, j, made := p.find(most)
			totals := j.Totals()
			t.Logf("after %d requests with %d lies: %+v", made, s.lies, totals.Violations)
			if s.lies == 0 || totals.Late+totals.Unjudged > 0 {
				t.Fatalf("%d lies were told, %d requests late, %d unjudged", s.lies, totals.Late, totals.Unjudged)
			}
			if p.found == nil {
				if totals.Violations.All() > 0 {
					t.Fatalf("a legal answer is called a violation: %s", j.Witnesses()[0].Words(0))
				}
				return
			}
			if totals.Violations.All() == 0 {
				t.Fatalf("not found in %d requests with %d lies", made, s.lies)
			}
			for _, w := range j.Witnesses() {
				if err := w.Check(); err != nil {
					t.Errorf("%s: %v", w.Words(0), err)
				}
				if w.Class != p.found[0] && w.Class != p.found[len(p.found)-1] {
					t.Errorf("%s is of class %q, want %q", w.Words(0), w.Class, p.found)
				}
			}
		})
	}
}

// TestHonest: a store that tells the truth, with time-outs and failures, has no violation.
func TestHonest(t *testing.T) {
	for _, s := range []*store{
		{clients: 16, keys: 1, writes: 0.5, unknown: 0.01, failed: 0.01},
		{clients: 64, keys: 1000, writes: 0.3, unknown: 0.01, failed: 0.01, swaps: 0.2, deletes: 0.1},
	} {
		j := s.judge(Options{})
		for range 200 {
			s.run(j, 1000)
		}
		s.finish(j)
		totals := j.Totals()
		if totals.Violations.All() > 0 {
			t.Fatalf("an honest store: %s", j.Witnesses()[0].Words(0))
		}
		if totals.Judged != totals.Operations || totals.Judged < 199_000 {
			t.Errorf("%d of %d requests were judged", totals.Judged, totals.Operations)
		}
	}
}

// TestWords: a witness in sentences.
func TestWords(t *testing.T) {
	j := judgeOf(-1, false)
	j.Second([]Op{
		{Request: 1, Sent: 1e6, End: 2e6, Kind: Write, Client: 4},
		{Request: 2, Sent: 3e6, End: 4e6, Kind: Read, Known: true, Read: -1, Client: 5},
	}, 1e7)
	want := "key 0: stale read. Value -1 was there before the load, and was written or read by request 2 of client 5, sent at 3ms. " +
		"Value 1 was there when request 1 of client 4 ended at 2ms, and was written or read by request 1 of client 4, sent at 1ms. Each must have come before the other."
	if got := j.Witnesses()[0].Words(0); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
