package watch

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/workload"
)

// perSecond is the number of writes that [steady] sends in a second.
const perSecond = 100

// steady is a load in virtual time, second by second. Watcher 0 receives each write after up to 0.9
// s, watcher 1 at once, or when late is called.
type steady struct {
	*judge
	second int64
	sent   []int64 // for writes that watcher 1 has not received
	next   int64
}

func newSteady() *steady {
	s := &steady{judge: updates(stream1), second: 10}
	for range 2 {
		id, _ := s.join(false)
		s.establish(id, 0, 1)
	}
	return s
}

// hear has a watcher receive a write.
func (s *steady) hear(watcher int32, number, at int64) {
	value := append(binary.LittleEndian.AppendUint64(nil, uint64(number)), make([]byte, 8)...)
	s.receive(at, []database.WatchEvent{{Watcher: watcher, Key: s.keys.name(number % 10), Value: value, Version: number + 1}})
}

// pass lets a second pass, in which watcher 1 receives at once or never.
func (s *steady) pass(atOnce bool) {
	for i := range int64(perSecond) {
		number := s.next
		s.next++
		sent := s.second*int64(time.Second) + i*int64(9*time.Millisecond)
		s.hear(0, number, sent+number*7919%900*int64(time.Millisecond)+number*104_729%1_000_000)
		if atOnce {
			s.hear(1, number, sent+1)
		} else {
			s.sent = append(s.sent, sent)
		}
		s.observe([]load.Ended{{Number: number, Key: number % 10, Sent: sent, Due: sent, End: sent + 1, Change: -1, Outcome: workload.OK}}, 0)
	}
	s.second++
	s.observe(nil, s.second*int64(time.Second))
}

// kept returns the memory in use, in bytes.
func kept() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The memory for observed times does not grow with the load duration: all but the open seconds are
// passed on, and they add up to the totals.
func TestSecondsAreNotKept(t *testing.T) {
	const minutes = 5
	s, early := newSteady(), int64(0)
	group := watchers.Observed()
	passedOn := observation.NewStream(group, t.TempDir(), time.Unix(10, 0))
	defer passedOn.Close()
	last := int64(0)
	for n := range minutes * 60 {
		s.pass(true)
		for _, one := range s.take() {
			if one.Second <= last {
				t.Fatalf("second %d comes after %d", one.Second, last)
			}
			last = one.Second
			if err := passedOn.Write([]observation.Second{one}); err != nil {
				t.Fatal(err)
			}
		}
		if open, most := len(s.times.open), int(observation.OpenFor/time.Second)+2; open > most || len(s.times.seconds) > 0 {
			t.Fatalf("in second %d there are %d open and %d others, want at most %d and none", n, open, len(s.times.seconds), most)
		}
		if n == 59 {
			early = kept()
		}
	}
	if late := kept(); late > early+1<<18 {
		t.Errorf("after a minute %d bytes were in use, after %d minutes %d", early, minutes, late)
	}
	if err := passedOn.Write(func() []observation.Second { s.finish(true); return s.take() }()); err != nil {
		t.Fatal(err)
	}
	const writes = minutes * 60 * perSecond
	for name, want := range map[string]int64{watchers.ValueSent: 2 * writes, watchers.ValueDue: 2 * writes, watchers.ValueAll: writes, watchers.ValueWrites: writes} {
		if got := passedOn.Totals()[name].N; got != want {
			t.Errorf("the seconds have %d of %s, want %d", got, name, want)
		}
	}
	stage := s.times.stages[0]
	sent, total := stage.spread(valueSent), passedOn.Totals()[watchers.ValueSent]
	if s.counts.Delivered != 2*writes || sent.N != 2*writes || time.Duration(sent.P50) != total.P50 || time.Duration(sent.P99) != total.P99 || time.Duration(sent.Max) != total.Longest {
		t.Errorf("%d deliveries, of the stage %+v, of the seconds %+v; want the same", s.counts.Delivered, sent, total)
	}
}

// Deliveries that come long after their second, for many seconds at a time, are in further parts of
// it. Nothing is lost, and no more seconds are open than may be.
func TestLateDeliveries(t *testing.T) {
	s := newSteady()
	group := watchers.Observed()
	var parts []observation.Second
	for range 100 {
		s.pass(false)
		parts = append(parts, s.take()...)
	}
	if n := group.Total(parts)[watchers.ValueSent].N; n > 0 {
		t.Fatalf("%d deliveries are written of writes of which not all have heard", n)
	}
	now := s.second * int64(time.Second)
	for i := range s.sent { // all seconds three times, so that each comes in several parts
		s.hear(1, int64(3*i%len(s.sent)), now)
		if len(s.times.open) > mostOpen || len(s.times.free) > mostOpen {
			t.Fatalf("%d seconds are open, and %d were, want at most %d", len(s.times.open), len(s.times.free), mostOpen)
		}
		if i%(len(s.sent)/3) == 0 {
			parts = append(parts, s.take()...)
		}
	}
	s.pass(true)
	s.finish(true)
	parts = append(parts, s.take()...)
	merged := group.Merge(parts)
	if len(merged) != 101 || len(parts) < 2*101 {
		t.Errorf("%d seconds in %d parts, want 101, most in several", len(merged), len(parts))
	}
	for _, one := range merged {
		if n := one.Numbers[valueSent].N; n != 2*perSecond || one.Numbers[valueAll].N != perSecond || one.Numbers[valueSent].Times.Total() != n {
			t.Errorf("second %d has %d deliveries, of which %d by time, want %d", one.Second, n, one.Numbers[valueSent].Times.Total(), 2*perSecond)
		}
	}
	if sent := s.times.stages[0].spread(valueSent); sent.N != 101*2*perSecond || sent.N != group.Total(parts)[watchers.ValueSent].N {
		t.Errorf("the stage has %d deliveries, want %d", sent.N, 101*2*perSecond)
	}
}
