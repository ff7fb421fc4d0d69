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

// What all have heard of is not kept: neither by the newest version of a key that nobody writes any
// more, nor by a watcher that has ended.
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
		next := add(version, 2) // before all have heard of the one before
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
	for i, e := range gone[:len(gone)-2] { // the last is open, and a watcher heard of the one before
		if e.Value() != nil {
			t.Errorf("version %d is kept", i+2)
		}
	}
	runtime.KeepAlive(s)
}

// updates returns a judge of updates of ten keys, whose watchers watch all of them. Its stage has begun.
func updates(facts database.WatchFacts) *judge {
	l := &workload.Load{}
	l.Operation, l.Keys, l.KeySize, l.ValueSize = workload.OpUpdate, 10, 8, 16
	j := newJudge(facts, watchers.All, l, 0)
	j.begin(1)
	return j
}

// An event that comes before its watcher is established, of a version that all others have heard of, is
// no duplicate: the watcher begins after it. For an established watcher it is one.
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
