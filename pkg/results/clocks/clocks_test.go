package clocks

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/files/linefile"
)

const (
	ms   = int64(time.Millisecond)
	s    = int64(time.Second)
	base = 1_700_000_000 * s
)

func TestNewExchange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name                          string
		sent, received, replied, back int64
		want                          Exchange
	}{
		{"the same clock", 0, 5 * ms, 6 * ms, 11 * ms, Exchange{UnixNano: 11 * ms, ErrorNS: 5 * ms, RoundTripNS: 10 * ms}},
		{"an agent ahead", 0, s + 5*ms, s + 6*ms, 11 * ms, Exchange{UnixNano: 11 * ms, OffsetNS: s, ErrorNS: 5 * ms, RoundTripNS: 10 * ms}},
		{"one way is slower", 0, 10 * ms, 10 * ms, 10 * ms, Exchange{UnixNano: 10 * ms, OffsetNS: 5 * ms, ErrorNS: 5 * ms, RoundTripNS: 10 * ms}},
		{"an odd round trip", 0, 1, 1, 3, Exchange{UnixNano: 3, ErrorNS: 2, RoundTripNS: 3}},
		{"an agent that claims more time than there was", 0, 0, 3 * ms, ms, Exchange{UnixNano: ms, OffsetNS: ms, ErrorNS: ms, RoundTripNS: -2 * ms}},
	} {
		if diff := cmp.Diff(tc.want, NewExchange(0, tc.sent, tc.received, tc.replied, tc.back)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// exchange returns an exchange at a second, with a clock ahead by offset, and with the one-way
// times there and back.
func exchange(second, offset, there, back int64) Exchange {
	sent := base + second*s
	return NewExchange(1, sent, sent+there+offset, sent+there+offset, sent+there+back)
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name            string
		exchanges       []Exchange
		offset          int64
		moved, furthest time.Duration
	}{
		{"one", []Exchange{exchange(0, 7*ms, ms, ms)}, 7 * ms, 0, 6 * time.Millisecond},
		{"held up, but not moved", []Exchange{exchange(0, 0, ms, ms), exchange(1, 0, 400*ms, ms), exchange(2, 0, ms, 900*ms)}, 0, 0, 0},
		{"moved by 30 ms, of which the errors explain 2", []Exchange{exchange(0, 0, ms, ms), exchange(1, 30*ms, ms, ms)}, 0, 28 * time.Millisecond, 29 * time.Millisecond},
		{"moved back", []Exchange{exchange(0, 30*ms, ms, ms), exchange(1, -30*ms, ms, ms)}, 30 * ms, 58 * time.Millisecond, 29 * time.Millisecond},
		{"a move within the errors", []Exchange{exchange(0, 0, 10*ms, 10*ms), exchange(1, 15*ms, 10*ms, 10*ms)}, 0, 0, 5 * time.Millisecond},
	} {
		var e Estimate
		for _, x := range tc.exchanges {
			e.Add(x)
		}
		if e.Best().OffsetNS != tc.offset || e.Moved() != tc.moved || e.Furthest() != tc.furthest || e.N() != len(tc.exchanges) {
			t.Errorf("%s: offset %d, moved %v, furthest %v of %d, want %d, %v, %v", tc.name, e.Best().OffsetNS, e.Moved(), e.Furthest(), e.N(), tc.offset, tc.moved, tc.furthest)
		}
	}
}

// An exchange delayed in one direction does not bend the track.
func TestTrackIgnoresDelays(t *testing.T) {
	t.Parallel()
	var all []Exchange
	for i := range int64(200) {
		there, back := ms, ms
		if i%5 != 0 || 64 <= i && i < 80 { // a whole window without a short round trip
			there = 80 * ms
		}
		all = append(all, exchange(i, 20*ms, there, back))
	}
	track, ok := NewTrack(all, 1)
	if !ok {
		t.Fatal("a member with exchanges must have a track")
	}
	for i := range int64(220) {
		at := base + (i-10)*s
		if got := track.Client(at + 20*ms); got != at {
			t.Errorf("second %d: the client's time is off by %v", i-10, time.Duration(got-at))
		}
	}
}

// A clock that drifts and then is set: times are right within the bounds of the exchanges, except
// between the exchanges around the step, and stay in order.
func TestTrackFollows(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	ahead := func(second float64) int64 {
		offset := 40e-6 * second * float64(s)
		if second >= 300 {
			offset += float64(500 * ms)
		}
		return int64(offset)
	}
	var all []Exchange
	for i := range int64(600) {
		all = append(all, exchange(i, ahead(float64(i)), random.Int64N(3*ms), random.Int64N(3*ms)))
	}
	track, _ := NewTrack(all, 1)
	last := int64(0)
	for i := range int64(6000) {
		at := base + i*s/10
		got := track.Client(at + ahead(float64(i)/10))
		if off := got - at; (i < 2990 || i > 3000) && max(off, -off) > 3*ms {
			t.Errorf("second %.1f: the client's time is off by %v", float64(i)/10, time.Duration(off))
		}
		if i > 0 && got < last {
			t.Errorf("second %.1f comes before the one before it", float64(i)/10)
		}
		last = got
	}
}

func TestTrackOfNobody(t *testing.T) {
	t.Parallel()
	if _, ok := NewTrack([]Exchange{exchange(0, 0, ms, ms)}, 2); ok {
		t.Error("a member without exchanges must have no track")
	}
	if got := (Track{}).Client(base); got != base {
		t.Errorf("the zero track moves a time by %d ns", got-base)
	}
	if got := Fixed(time.Second).Client(base + s); got != base {
		t.Errorf("a fixed track gives %d, want %d", got, base)
	}
}

// An agent clock set far back leaves a track that still converts.
func TestTrackOfAClockSetBack(t *testing.T) {
	t.Parallel()
	var all []Exchange
	for i := range int64(100) {
		offset := int64(0)
		if i >= 50 {
			offset = -3600 * s
		}
		all = append(all, exchange(i, offset, ms, ms))
	}
	track, _ := NewTrack(all, 1)
	if at := base + 99*s; track.Client(at-3600*s) != at {
		t.Errorf("the last second is at %d, want %d", track.Client(at-3600*s), at)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clock.csv")
	want := []Exchange{exchange(0, 5, ms, ms), exchange(1, -5, ms, 2*ms)}
	w, err := NewWriter(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range want {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("17000"); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path, 2)
	if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, linefile.ErrTruncated) {
		t.Errorf("rows (-want +got):\n%s\nerror %v, want one that matches %v", diff, err, linefile.ErrTruncated)
	}
}
