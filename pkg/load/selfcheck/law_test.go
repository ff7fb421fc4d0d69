package selfcheck

import (
	"slices"
	"testing"
	"time"
)

func TestLawHasItsSharesInEveryThousand(t *testing.T) {
	law := Law{Delays: tails()}
	for _, first := range []int64{0, 1, 12_345, 1 << 40} {
		counts := map[time.Duration]int{}
		for i := range int64(thousand) {
			counts[law.delay(first+i)]++
		}
		for _, d := range tails() {
			if counts[d.Delay] != d.Count {
				t.Errorf("of the thousand requests from %d, %d take %v, want %d", first, counts[d.Delay], d.Delay, d.Count)
			}
		}
	}
}

func TestLawReply(t *testing.T) {
	law := Law{Delays: []Delay{{thousand, 50 * time.Millisecond}}, StallAfter: 5 * time.Second, StallFor: time.Second}
	for _, c := range []struct{ received, want time.Duration }{
		{0, 50 * time.Millisecond},
		{4949 * time.Millisecond, 4999 * time.Millisecond},
		{4950 * time.Millisecond, 6 * time.Second}, // in flight when the stall begins
		{5500 * time.Millisecond, 6 * time.Second},
		{5950 * time.Millisecond, 6 * time.Second},
		{5951 * time.Millisecond, 6001 * time.Millisecond},
	} {
		if got := law.reply(7, c.received); got != c.want {
			t.Errorf("a request received at %v is answered at %v, want %v", c.received, got, c.want)
		}
	}
}

func TestBadLaws(t *testing.T) {
	for _, law := range []Law{
		{},
		{Delays: []Delay{{999, time.Second}}},
		{Delays: []Delay{{1001, time.Second}, {-1, time.Second}}},
		{Delays: []Delay{{1000, -1}}},
		{Delays: tails(), StallFor: -1},
	} {
		if law.check() == nil {
			t.Errorf("%+v is accepted, want an error", law)
		}
	}
	if err := (Law{Delays: tails()}).check(); err != nil {
		t.Errorf("the law of the check itself is refused: %v", err)
	}
}

func TestReplay(t *testing.T) {
	second := int64(time.Second)
	for _, c := range []struct {
		name    string
		clients int
		delays  []int64 // at one request a second
		want    []int64
	}{
		{"no request waits", 1, []int64{1, 2, 3}, []int64{1, 2, 3}},
		{"one client is held up", 1, []int64{2*second + 5, 10, 10}, []int64{2*second + 5, second + 15, 25}},
		{"the other client continues", 2, []int64{2*second + 5, 10, 10}, []int64{2*second + 5, 10, 10}},
		{"the first to be free takes the next", 2, []int64{9 * second, 2 * second, 1, 1, 1}, []int64{9 * second, 2 * second, second + 1, 2, 1}},
	} {
		got := replay(int64(len(c.delays)), 1, c.clients, func(i, sent int64) int64 { return sent + c.delays[i] })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: response times %v, want %v", c.name, got, c.want)
		}
	}
}

func TestNearestRank(t *testing.T) {
	var sorted []int64
	for i := range int64(1000) {
		sorted = append(sorted, i+1)
	}
	for q, want := range map[float64]int64{0: 1, 0.5: 500, 0.95: 950, 0.99: 990, 0.999: 999, 1: 1000} {
		if got := nearestRank(sorted, q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if got := nearestRank(nil, 0.5); got != 0 {
		t.Errorf("the median of no values is %d, want 0", got)
	}
}
