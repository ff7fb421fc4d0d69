package watch

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/workload"
)

const (
	// mostKept bounds, in bytes, the memory for deliveries whose entries are open: beyond it the
	// oldest entry is not judged.
	mostKept = 256 << 20
	// shownFaults is the most wrong deliveries that a record names.
	shownFaults = 20
	// skippedAfter is the time after its end from which a write that no watcher received counts as
	// replaced, if watchers received a newer one to its key.
	skippedAfter = 30 * time.Second
	// leastNumbered is the number of bytes that a value needs to begin with its request number.
	leastNumbered = 16
	// listedSlots is the memory for an entry in its sequence's list and its write, some 240 bytes,
	// in slots of 8.
	listedSlots = 30
)

// newJudge returns a judge for a load. unsure bounds the error between write times and event times.
func newJudge(facts database.WatchFacts, of watchers.Of, l *workload.Load, unsure int64) *judge {
	j := &judge{facts: facts, most: mostKept, keys: keysOf(l), unsure: unsure, waiting: map[request]*write{}, unknown: map[*entry]struct{}{}, numbers: map[request]*entry{}, times: newTimes(facts.Values)}
	for _, op := range l.Operations() {
		j.sends = append(j.sends, op.SendsValue())
	}
	j.ranges = newRanges(of, j.keys, j.newSequence)
	return j
}

func (j *judge) newSequence() *sequence {
	s := newSequence()
	if j.facts.Coalesces {
		s.replaced = newReplaced(j.unsure)
	}
	return s
}

// join adds the next watcher, and returns its number and range.
func (j *judge) join(slow bool) (id int32, r database.WatchRange) {
	j.mu.Lock()
	defer j.mu.Unlock()
	id = int32(len(j.list))
	j.list = append(j.list, j.ranges.begin(id).join(id, slow))
	return id, j.ranges.watched(id)
}

// resume returns where a watcher that receives no events at the moment continues: its range, and
// the version up to which it has received all events.
func (j *judge) resume(id int32) (r database.WatchRange, after int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := j.list[id]
	return j.ranges.watched(id), max(w.after, w.told)
}

// took records the time for something that began at a moment.
func (j *judge) took(began int64, value int, spent int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.times.took(began, value, spent)
}

// establish notes that a watcher hears of all versions after one.
func (j *judge) establish(id int32, after, now int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := j.list[id]
	w.seq.establish(w, after, now)
}

// lose notes that some watchers receive nothing more.
func (j *judge) lose(ids []int32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range ids {
		w := j.list[id]
		w.seq.lose(w)
	}
}

// receive takes the events from one read.
func (j *judge) receive(at int64, events []database.WatchEvent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range events {
		j.event(at, &events[i])
	}
}

func (j *judge) event(at int64, event *database.WatchEvent) {
	w := j.list[event.Watcher]
	s := w.seq
	w.told = max(w.told, event.Version)
	if event.Gap { // its missing events are judged at the end
		j.counts.Gaps++
		if j.gap == nil {
			j.gap = &watchers.Witness{Watcher: w.id, Version: event.Version}
		}
		return
	}
	if event.Woken {
		j.counts.Woken++
		j.times.add(at, valueWoken, 1)
		return
	}
	if w.since > 0 && event.Version <= max(w.after, s.dropped) {
		return // before it watched, or forgotten
	}
	e := s.find(w, event.Version)
	if e == nil {
		if e = j.discover(s, at, event); e == nil {
			return
		}
	}
	if e.done && w.since == 0 {
		return // it begins after that
	}
	if e.done && e.write == nil { // not this load's write
		j.counts.Foreign++
		if j.facts.Coalesces {
			j.skip(w, e, at)
		}
		return
	}
	if e.done || e.heardBy(w) > 0 {
		j.fault(at, watchers.Duplicate, w, e)
		return
	}
	if e.first == 0 {
		e.first = at
	}
	if e.heardBy(w) < 0 { // a newer one came before
		j.counts.Coalesced--
		j.times.add(sentOf(e, at), valueCoalesced, -1)
	}
	j.resolve(w, e, at)
	j.counts.Delivered++
	if event.Version < w.version {
		j.fault(at, watchers.Reordered, w, e)
	} else {
		w.version, w.cursor = event.Version, e
	}
	if j.facts.Coalesces {
		j.skip(w, e, at)
	}
	j.closeIf(s, e)
	j.bound(s)
}

// resolve notes when a watcher received an entry or a newer one instead.
func (j *judge) resolve(w *watcher, e *entry, at int64) {
	size := len(e.heard)
	w.seq.resolve(e, w.place, at)
	j.kept += int64(len(e.heard) - size)
}

// sentOf returns when the write of an entry was sent, or another time if that is not known.
func sentOf(e *entry, at int64) int64 {
	if e.write != nil {
		return e.write.sent
	}
	return at
}

// skip notes that a watcher will receive no older version of a key.
func (j *judge) skip(w *watcher, e *entry, at int64) {
	for o := e.older; o != nil && o.version > w.after && o.heardBy(w) == 0; {
		older := o.older
		if !o.done { // others between ours are
			j.resolve(w, o, -at)
			j.counts.Coalesced++
			j.times.add(sentOf(o, at), valueCoalesced, 1)
			j.closeIf(w.seq, o)
		}
		o = older
	}
}

// discover returns the entry for a version that is received for the first time, nil for one that
// does not count.
func (j *judge) discover(s *sequence, at int64, event *database.WatchEvent) *entry {
	key, known := j.keys.number(event.Key)
	if !known || j.ranges.sequence(key) != s {
		j.counts.Foreign++
		return nil
	}
	number := int64(noNumber)
	if j.facts.Values && len(event.Value) >= leastNumbered {
		number = int64(binary.LittleEndian.Uint64(event.Value))
	}
	wrote := j.waiting[request{key, number}]
	if event.Version <= s.done && wrote == nil { // it was judged
		switch w := j.list[event.Watcher]; {
		case j.others.has(s, event.Version):
			j.counts.Foreign++
		case w.since > 0: // else it begins after that
			j.fault(at, watchers.Duplicate, w, &entry{version: event.Version, key: key, number: number})
		}
		return nil
	}
	e := &entry{version: event.Version, key: key, number: number, write: wrote, first: at}
	if wrote == nil {
		j.unknown[e] = struct{}{}
		if number != noNumber {
			j.numbers[request{key, number}] = e
		}
	}
	if wrote != nil && s.replaced != nil {
		s.replaced.heard(wrote)
	}
	delete(j.waiting, request{key, number})
	j.insert(s, e)
	return e
}

// insert adds a version.
func (j *judge) insert(s *sequence, e *entry) {
	j.kept += listedSlots
	if s.insert(e); !j.facts.Coalesces {
		return
	}
	if n := int64(s.chain(e)); n > 0 {
		j.kept += int64(len(e.heard))
		j.counts.Coalesced += n
		j.times.add(sentOf(e, e.first), valueCoalesced, n)
	}
}

// identify notes that the request of an entry is known, or will not be.
func (j *judge) identify(e *entry) {
	delete(j.unknown, e)
	if r := (request{e.key, e.number}); j.numbers[r] == e {
		delete(j.numbers, r)
	}
}

// fault counts a fault in a delivery.
func (j *judge) fault(at int64, f watchers.Fault, w *watcher, e *entry) {
	switch f {
	case watchers.Lost:
		j.counts.Lost++
		j.times.add(at, valueLost, 1)
	case watchers.Duplicate:
		j.counts.Duplicate++
		j.times.add(at, valueDuplicate, 1)
	case watchers.Reordered:
		j.counts.Reordered++
		j.times.add(at, valueReordered, 1)
	}
	if len(j.witnesses) < shownFaults {
		j.witnesses = append(j.witnesses, watchers.Witness{Fault: f, Watcher: w.id, Version: e.version, Request: max(e.number, -1), Key: e.key})
	}
}

// closeIf ends an entry whose request is known and that all have received.
func (j *judge) closeIf(s *sequence, e *entry) {
	if e.write != nil && !e.done && s.complete(e) {
		j.close(s, e, true)
	}
}

// close ends an entry. If all have received it, it is known when the last did.
func (j *judge) close(s *sequence, e *entry, all bool) {
	j.times.deliveries(e.write, s.watchers, e.heard, all)
	for _, w := range s.watchers {
		if w.broken && w.since > 0 && e.version > w.after && e.heardBy(w) == 0 {
			j.counts.Behind++
		}
	}
	if all {
		e.all = s.allHeard(e, e.write.sent)
	}
	j.drop(s, e)
}

// drop ends an entry and keeps nothing about it.
func (j *judge) drop(s *sequence, e *entry) {
	j.kept -= int64(len(e.heard))
	j.kept -= listedSlots * s.close(e)
}

// bound drops the oldest entries if too much is kept: a sequence's, or others' if it has no
// entries.
func (j *judge) bound(s *sequence) {
	for j.kept*8 > j.most {
		if s.head == nil {
			list := j.ranges.sequences()
			n := slices.IndexFunc(list, func(o *sequence) bool { return o.head != nil })
			if n < 0 {
				return
			}
			s = list[n]
		}
		e := s.head
		for _, w := range s.watchers {
			if w.expects(e.version) && e.heardBy(w) == 0 {
				j.counts.Unjudged++
			}
		}
		s.dropped = max(s.dropped, e.version)
		j.identify(e)
		if e.write == nil {
			j.drop(s, e)
			continue
		}
		j.close(s, e, false)
	}
}

// observe takes requests that ended, and a moment: all requests sent before it have ended and were
// passed. It implements [load.Observer].
func (j *judge) observe(ended []load.Ended, before int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range ended {
		if e := &ended[i]; j.sends[e.Op] && e.Outcome != workload.Failed {
			j.wrote(e)
		}
	}
	if len(ended) == 0 {
		j.forget(before - j.unsure)
	}
}

// take returns the seconds that are over and were not taken yet, in order.
func (j *judge) take() []observation.Second {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.times.take()
}

// wrote takes a write.
func (j *judge) wrote(ended *load.Ended) {
	s := j.ranges.sequence(ended.Key)
	if s == nil || len(s.watchers) == 0 {
		return
	}
	one := &write{number: ended.Number, key: ended.Key, sent: ended.Sent, due: ended.Due, end: ended.End, acked: ended.Outcome == workload.OK}
	if one.acked {
		j.counts.Writes++
		j.times.wroteToSlow(one.end, s.slow)
	} else {
		j.counts.Unknown++
	}
	e := s.by[ended.Change]
	if ended.Change <= 0 {
		e = j.numbers[request{one.key, one.number}]
	}
	switch {
	case e != nil && e.write == nil:
		j.identify(e)
		e.write, e.number = one, one.number
		j.closeIf(s, e)
	case e != nil: // another request with the same version or number: it is not ours
		j.counts.Foreign++
	case ended.Change > 0 && ended.Change <= s.done && j.facts.Coalesces: // all have received a newer one
		j.skipped(one, s.newerHeard(one, ended.Change))
	case ended.Change > 0:
		e = &entry{version: ended.Change, key: one.key, number: one.number, write: one}
		j.insert(s, e)
		j.closeIf(s, e)
		j.bound(s)
	case j.facts.Values:
		if j.waiting[request{one.key, one.number}] = one; one.acked && s.replaced != nil {
			s.replaced.wait(one)
		}
	case one.acked: // no event can be known to come from it
		j.counts.Unjudged += int64(len(j.watching(one)))
	}
}

// forget drops entries whose requests are not from this load, and writes that were surely replaced.
func (j *judge) forget(before int64) {
	j.disownUnknown(before)
	if j.facts.Coalesces {
		for r, one := range j.waiting {
			if one.end < before-int64(skippedAfter) && j.replaced(one) {
				j.skipped(one, one.replacedAt())
				delete(j.waiting, r)
			}
		}
		for _, s := range j.ranges.sequences() {
			s.replaced.forget(before - j.unsure)
		}
	}
	j.times.flush(before)
}

// disownUnknown drops entries that watchers received before a moment and whose requests are not known.
func (j *judge) disownUnknown(before int64) {
	for e := range j.unknown {
		s := j.ranges.sequence(e.key)
		if e.first >= before {
			continue
		}
		j.identify(e)
		j.disown(e)
		if s.complete(e) {
			e.all = s.allHeard(e, e.first)
		} else {
			j.others.add(s, e.version)
		}
		j.drop(s, e)
	}
}

// disown counts an entry's deliveries as foreign, and no longer any as replaced.
func (j *judge) disown(e *entry) {
	for _, at := range e.heard {
		switch {
		case at > 0:
			j.counts.Foreign++
			j.counts.Delivered--
		case at < 0:
			j.counts.Coalesced--
			j.times.add(e.first, valueCoalesced, -1)
		}
	}
}

// replaced reports whether watchers received a write to the same key that may have come after. It
// may be a write by others, which was made before they received it.
func (j *judge) replaced(one *write) bool {
	last := j.ranges.sequence(one.key).last[one.key]
	if last == nil {
		return false
	}
	until := last.first
	if last.write != nil {
		until = last.write.end
	}
	return until > 0 && one.sent <= until+j.unsure
}

// watching returns the number of watchers that must receive a write whose version is not known.
func (j *judge) watching(one *write) (list []*watcher) {
	for _, w := range j.ranges.sequence(one.key).watchers {
		if w.since > 0 && w.since <= one.sent-j.unsure && !w.broken {
			list = append(list, w)
		}
	}
	return list
}

// skipped counts a write that no watcher received. All had received a newer one at a time, which is
// 0 if unknown.
func (j *judge) skipped(one *write, all int64) {
	if n := int64(len(j.watching(one))); one.acked && n > 0 {
		j.counts.Coalesced += n
		j.times.add(one.sent, valueCoalesced, n)
		j.times.replaced(one, all)
	}
}

// finish judges the remaining entries. Passed means that the members have reported all events:
// missing ones are lost.
func (j *judge) finish(passed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.disownUnknown(1<<63 - 1)
	for _, s := range j.ranges.sequences() {
		for e := s.head; e != nil; {
			next := e.next
			if !e.done && e.write != nil {
				all := true
				for _, w := range s.watchers {
					if w.expects(e.version) && e.heardBy(w) == 0 {
						all = false
						j.missing(passed, w, e)
					}
				}
				j.close(s, e, all)
			}
			e = next
		}
	}
	left := slices.SortedFunc(maps.Values(j.waiting), func(a, b *write) int { return cmp.Compare(a.number, b.number) })
	clear(j.waiting)
	for _, one := range left {
		switch {
		case !one.acked:
		case j.facts.Coalesces && j.replaced(one):
			j.skipped(one, one.replacedAt())
		default:
			list := j.watching(one)
			for _, w := range list {
				j.missing(passed, w, &entry{key: one.key, number: one.number, write: one})
			}
			if len(list) > 0 {
				j.times.wrote(one.sent)
			}
		}
	}
	j.times.flush(1<<63 - 1)
}

// missing counts a delivery that has not come.
func (j *judge) missing(passed bool, w *watcher, e *entry) {
	if passed {
		j.fault(e.write.sent, watchers.Lost, w, e)
	} else {
		j.counts.Behind++
	}
}

// release notes that slow connections read again, and caughtUp that all have caught up or are no
// longer waited for.
func (j *judge) release(stage int, conns []*connection, at int64) {
	var ids []int32
	for _, c := range conns {
		c.of.mu.Lock()
		ids = append(ids, c.watchers...)
		c.of.mu.Unlock()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.ranges.sequences() {
		s.slow = 0
	}
	for _, id := range ids {
		j.list[id].seq.slow++
	}
	j.times.stages[stage].released = at
}

func (j *judge) caughtUp(stage int, at int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.times.stages[stage].caughtUp = at
}

// begin begins a stage, and end ends the last one.
func (j *judge) begin(at int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.times.begin(at)
}

func (j *judge) end(at int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.times.end(at)
}

// Broken notes that a connection has ended.
func (c *connection) Broken(err error) {
	c.of.mu.Lock()
	c.of.broken = cmp.Or(c.of.broken, err)
	lost := c.watchers
	if c.slow {
		c.of.ended++
		c.of.cut = cmp.Or(c.of.cut, err)
	}
	c.of.mu.Unlock()
	c.of.judge.lose(lost)
}
