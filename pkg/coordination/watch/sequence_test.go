package watch

import (
	"encoding/binary"
	"runtime"
	"testing"
	"weak"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
)

// Entries that all have received are not kept: neither by a key's newest version that is no longer
// written, nor by a watcher that has ended.
func TestForgotten(t *testing.T) {
	s := newSequence()
	for id := range int32(2) {
		s.establish(s.join(id, false), 0, 1)
	}
	add := func(version, key int64) *entry {
		e := &entry{version: version, key: key}
		s.insert(e)
		s.chain(e)
		return e
	}
	open := add(1, 1)
	var gone []weak.Pointer[entry]
	for version := int64(2); version < 10; version++ {
		next := add(version, 2) // before all have received the one before
		for _, w := range s.watchers {
			if !w.broken {
				s.resolve(open, w.place, 1)
				w.version, w.cursor = open.version, open
			}
		}
		if s.close(open); version == 3 {
			s.lose(s.watchers[1])
		}
		gone, open = append(gone, weak.Make(next)), next
	}
	runtime.GC()
	for i, e := range gone[:len(gone)-2] { // the last is open, and a watcher received the one before
		if e.Value() != nil {
			t.Errorf("version %d is kept", i+2)
		}
	}
	runtime.KeepAlive(s)
}

// updates returns a judge for updates to ten keys, whose watchers watch all. Its stage has begun.
func updates(facts database.WatchFacts) *judge {
	l := &workload.Load{}
	l.Operation, l.Keys, l.KeySize, l.ValueSize = workload.OpUpdate, 10, 8, 16
	j := newJudge(facts, watchers.All, l, 0)
	j.begin(1)
	return j
}

// An event that comes before its watcher is established, for a version that all others have
// received, is no duplicate: the watcher begins after it. For an established watcher it is one.
func TestBeforeEstablished(t *testing.T) {
	j := updates(stream1)
	first, _ := j.join(false)
	second, _ := j.join(false)
	j.establish(first, 0, 1)
	hear := func(watcher int32, at int64) {
		value := binary.LittleEndian.AppendUint64(nil, 3)
		j.receive(at, []database.WatchEvent{{Watcher: watcher, Key: j.keys.name(0), Value: append(value, make([]byte, 8)...), Version: 5}})
	}
	hear(first, 10)
	j.wrote(&load.Ended{Number: 3, Key: 0, Sent: 5, Due: 5, End: 8, Outcome: workload.OK})
	hear(second, 11)
	j.establish(second, 4, 12)
	hear(second, 13)
	if j.counts.Duplicate != 0 || j.counts.Delivered != 1 {
		t.Errorf("counts %+v, want one delivery and no duplicate", j.counts)
	}
	if hear(first, 14); j.counts.Duplicate != 1 {
		t.Errorf("counts %+v, want a duplicate", j.counts)
	}
}

// told has watchers receive versions of keys, and notes writes, each at the next moment.
type told struct {
	*judge
	at int64
}

func (j *told) hear(watcher int32, key, version, number int64) {
	j.at++
	value := binary.LittleEndian.AppendUint64(nil, uint64(number))
	j.receive(j.at, []database.WatchEvent{{Watcher: watcher, Key: j.keys.name(key), Value: append(value, make([]byte, 8)...), Version: version}})
}

func (j *told) ends(key, number, change int64) {
	j.at++
	j.wrote(&load.Ended{Number: number, Key: key, Change: change, Sent: j.at - 1, Due: j.at - 1, End: j.at, Outcome: workload.OK})
}

// forgets drops writes by others so far.
func (j *told) forgets() {
	j.at++
	j.forget(j.at)
}

// watching establishes some watchers.
func (j *told) watching(n int) {
	for range n {
		id, _ := j.join(false)
		j.establish(id, 0, 1)
	}
}

// A watcher that receives only the newest version has not lost an earlier one by others, although
// all know by then that others wrote it. That version itself also came in place of older ones.
func TestSkipsPastOthers(t *testing.T) {
	for _, late := range []bool{false, true} {
		j := &told{judge: updates(coalescing), at: 10}
		j.watching(2)
		j.ends(0, 3, -1)
		j.hear(0, 0, 5, 3)
		j.hear(0, 0, 6, 99) // by others
		j.ends(0, 4, -1)
		j.hear(0, 0, 7, 4)
		j.forgets()
		if late {
			j.hear(1, 0, 6, 99)
		}
		j.hear(1, 0, 7, 4)
		j.finish(true)
		if c := j.counts; c.Lost+c.Duplicate+c.Unjudged > 0 || c.Delivered != 3 || c.Coalesced != 1 {
			t.Errorf("late %v: counts %+v, want 3 deliveries and one that was replaced", late, c)
		}
	}
}

// A write that others replaced before anybody received it is not lost.
func TestReplacedByOthers(t *testing.T) {
	j := &told{judge: updates(coalescing), at: 10}
	j.watching(2)
	j.ends(0, 3, -1)
	for watcher := range int32(2) {
		j.hear(watcher, 0, 6, 99)
	}
	j.forgets()
	j.finish(true)
	if c := j.counts; c.Lost > 0 || c.Coalesced != 2 || c.Foreign != 2 {
		t.Errorf("counts %+v, want that two watchers heard of another write instead", c)
	}
	late := &told{judge: updates(coalescing), at: 10}
	late.watching(1)
	late.hear(0, 0, 6, 99)
	late.forgets()
	late.ends(0, 3, -1) // after all that was received
	if late.finish(true); late.counts.Lost != 1 {
		t.Errorf("counts %+v, want a lost delivery", late.counts)
	}
}

// Requests by others may have the numbers of ours, with other keys.
func TestNumbersOfOthers(t *testing.T) {
	l := &workload.Load{}
	l.Operation, l.Keys, l.KeySize, l.ValueSize = workload.OpUpdate, 2, 8, 16
	made := newJudge(coalescing, watchers.Key, l, 0)
	made.begin(1)
	j := &told{judge: made, at: 10}
	j.watching(3) // two on key 0 and one on key 1
	j.hear(0, 0, 5, 7)
	j.ends(1, 7, -1)
	j.hear(2, 0, 5, 7)
	j.hear(1, 1, 6, 7)
	j.forgets()
	j.finish(true)
	if c := j.counts; c.Lost+c.Duplicate+c.Unjudged > 0 || c.Delivered != 1 || c.Foreign != 2 {
		t.Errorf("counts %+v, want one delivery, and two of others", c)
	}
}

// A watcher begins after versions that are judged, also behind an older one that is open.
func TestEstablishedBehindAnOpenOne(t *testing.T) {
	j := &told{judge: updates(stream1), at: 10}
	j.watching(1)
	j.hear(0, 0, 3, 1) // whose request has not ended
	j.hear(0, 0, 5, 2)
	j.ends(0, 2, 5)
	id, _ := j.join(false)
	j.establish(id, 4, j.at)
	j.hear(id, 0, 5, 2)
	j.ends(0, 1, 3)
	j.finish(true)
	if c := j.counts; c.Lost+c.Duplicate+c.Reordered > 0 || c.Delivered != 2 {
		t.Errorf("counts %+v, want two deliveries and no duplicate", c)
	}
}

// Versions behind one that never comes are bounded too, and are not lost.
func TestBoundBehindAnOpenOne(t *testing.T) {
	j := &told{judge: updates(stream1), at: 10}
	j.most = 1000 * 8 * listedSlots
	j.watching(2)
	j.ends(0, 1, 1)
	for version := int64(2); version < 5000; version++ {
		j.ends(0, version, version)
		j.hear(0, 0, version, version)
		j.hear(1, 0, version, version)
	}
	listed := 0
	for e := j.ranges.all.head; e != nil; e = e.next {
		listed++
	}
	if listed > 1000 {
		t.Errorf("%d versions are listed, want at most 1000", listed)
	}
	if j.finish(true); j.counts.Lost > 0 || j.counts.Unjudged != 2 {
		t.Errorf("counts %+v, want two that are not judged", j.counts)
	}
	if j.kept != 0 {
		t.Errorf("%d slots are kept after the end", j.kept)
	}
}

// The memory for events whose requests are not known is counted down when they are dropped.
func TestBoundOfUnknown(t *testing.T) {
	j := &told{judge: updates(stream1), at: 10}
	j.most = 1000 * 8 * listedSlots
	j.watching(20)
	for version := int64(1); version < 5000; version++ {
		j.hear(0, 0, version, version)
	}
	if j.kept > 1000*listedSlots || j.counts.Unjudged == 0 {
		t.Errorf("%d slots are kept, and counts are %+v", j.kept, j.counts)
	}
	if j.finish(true); j.kept != 0 {
		t.Errorf("%d slots are kept after the end", j.kept)
	}
}
