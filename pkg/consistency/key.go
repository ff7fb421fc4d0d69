package consistency

import (
	"cmp"
	"slices"
)

// key tracks the values of a key that requests may read. Its 128 bytes are two lines of a
// processor's cache.
type key struct {
	number int64
	// zones are the values that a running request may still read, by number. Most keys have one
	// value, whose place is then own: see [Judge.settle].
	zones []zone
	own   [1]zone
	rare  *rare // nil for most keys
	// closed is the number of the key's last value in the memory, plus one.
	closed  uint64
	queued  bool // among the keys that are looked at again
	tainted bool // it cannot be judged any more
	wrote   bool
}

// rare is the further state of a key with deletes, with guarded writes, with writes of unknown
// outcome, or without a known first value.
type rare struct {
	// absent are requests that did not find the key and cannot be judged yet. last is when the
	// last delete of the key ended. overwritten is the forgotten value whose zone ended last.
	absent      []Op
	last        int64
	overwritten zoneBound
	versions    versions
	unknowns    int  // writes of unknown outcome that were not read
	forgot      bool // a write of unknown outcome
	unstated    bool // its first value is not known
}

// ordinary is the rare of most keys. It never changes.
var ordinary = rare{last: earliest}

// odd returns the rare of a key for reading.
func (k *key) odd() *rare {
	if k.rare == nil {
		return &ordinary
	}
	return k.rare
}

// made returns the rare of a key for changes.
func (k *key) made() *rare {
	if k.rare == nil {
		k.rare = &rare{last: earliest}
	}
	return k.rare
}

// wroteAt returns when the last write whose value may still be there was sent, earliest if none is known.
func (k *key) wroteAt() int64 {
	at := int64(earliest)
	for n := range k.zones {
		if z := &k.zones[n]; z.is(written) {
			at = max(at, z.sent)
		}
	}
	return at
}

// zoneBound is the end of a zone.
type zoneBound struct {
	s      int64
	number int64
	known  bool
}

// role is the use of one value by a request.
type role uint8

// The requests of a value are looked at in this order.
const (
	wroteIt role = iota
	deletedIt
	readIt
	tookIt
	mayHaveWrittenIt
	failedToWriteIt
)

// touch is a value that a request of the batch wrote or read.
type touch struct {
	number int64
	op     int32
	role   role
}

// register judges the requests of a batch on a key, from head on.
func (j *Judge) register(k *key, head int32) {
	if k.tainted {
		k.zones, k.rare, j.unfinished = nil, nil, false
		return
	}
	j.collect(k, head)
	j.extend(k)
	j.expire(k)
	j.exclude(k)
	j.judgeVersions(k)
	j.judgeAbsent(k)
	j.close(k)
}

// collect lists the values that the key's requests touched, by number.
func (j *Judge) collect(k *key, head int32) {
	j.touches, j.replaced = j.touches[:0], j.replaced[:0]
	for n := head; n != none; n = j.next[n] {
		switch o := &j.batch[n]; {
		case o.Outcome == OK && o.Kind == Write:
			k.wrote = true
			j.touch(o.Request, n, wroteIt)
		case o.Outcome == OK && o.Kind == Read && o.Known && o.Read > NoRequest:
			j.touch(o.Read, n, readIt)
		default:
			j.collectWrite(k, n)
			j.collectRead(k, n)
		}
	}
	j.sorter.sort(j.touches)
}

func (j *Judge) touch(number int64, op int32, r role) {
	j.touches = append(j.touches, touch{number: number, op: op, role: r})
}

func (j *Judge) collectWrite(k *key, n int32) {
	o := &j.batch[n]
	switch o.Kind {
	case Write, Swap, Guarded:
		switch o.Outcome {
		case OK:
			k.wrote = true
			j.touch(o.Request, n, wroteIt)
			j.versionOf(o)
		case Unknown:
			k.wrote = true
			j.touch(o.Request, n, mayHaveWrittenIt)
		default:
			j.touch(o.Request, n, failedToWriteIt)
		}
	case Delete:
		switch o.Outcome {
		case OK:
			k.wrote = true
			k.made().last = max(k.made().last, o.End)
			j.touch(o.Request, n, deletedIt)
		case Unknown:
			k.made().last = never
		}
	}
}

func (j *Judge) collectRead(k *key, n int32) {
	o := &j.batch[n]
	switch {
	case o.Outcome == NotFound && j.opts.Deletes:
		if !j.opts.Weaker {
			k.made().absent = append(k.made().absent, *o)
		}
	case o.Outcome == NotFound:
		j.touch(Absent, n, readIt)
	case !o.Known || o.Kind != Read && o.Kind != Swap:
	case o.Kind == Swap && o.Outcome == Unknown: // it may read the compared value later
	case o.Read <= NoRequest && j.opts.Weaker:
		j.second.Unrecognised++
	case o.Read <= NoRequest: // no request has such a number
		z := newZone(o.Read)
		z.read(o)
		j.violate(k, Phantom, &z, nil, 1)
	case o.Kind == Swap && o.Outcome == OK:
		j.touch(o.Read, n, tookIt)
	default:
		j.touch(o.Read, n, readIt)
	}
}

// extend adds the requests to the zones of their values.
func (j *Judge) extend(k *key) {
	known, at := len(k.zones), 0
	for from := 0; from < len(j.touches); {
		number, to := j.touches[from].number, from+1
		for to < len(j.touches) && j.touches[to].number == number {
			to++
		}
		for at < known && k.zones[at].number < number {
			at++
		}
		group := j.touches[from:to]
		from = to
		switch {
		case at < known && k.zones[at].number == number:
			j.extendZone(k, &k.zones[at], group)
		case group[0].role <= tookIt:
			k.zones = append(j.keys.room(k), newZone(number))
			z := &k.zones[len(k.zones)-1]
			j.open(k, z)
			j.extendZone(k, z, group)
		default:
			j.keep(k, group)
		}
	}
	j.merge(k.zones, known)
}

// merge sorts zones by number: the first ones, whose number is known, are sorted, and so are the
// others.
func (j *Judge) merge(zones []zone, known int) {
	if known == 0 || known == len(zones) || zones[known-1].number < zones[known].number {
		return
	}
	to, _ := search(zones[:known], zones[known].number)
	j.merged = append(j.merged[:0], zones[to:known]...)
	from := known
	for n := range j.merged {
		for ; from < len(zones) && zones[from].number < j.merged[n].number; from++ {
			zones[to] = zones[from]
			to++
		}
		zones[to] = j.merged[n]
		to++
	}
}

// open adds the write to a new zone if the write had an unknown outcome.
func (j *Judge) open(k *key, z *zone) {
	if k.odd().unknowns == 0 {
		return
	}
	at := valueOf{k.number, z.number}
	if o, found := j.unknown[at]; found {
		delete(j.unknown, at)
		k.rare.unknowns--
		z.wrote(&o)
	}
}

// keep remembers a write that did not end ok and that was not read.
func (j *Judge) keep(k *key, group []touch) {
	o := &j.batch[group[0].op]
	if group[0].role == failedToWriteIt {
		j.failed.add(o)
		return
	}
	j.remember(k, *o)
}

// remember keeps a write of unknown outcome until it is read, if there is room.
func (j *Judge) remember(k *key, o Op) {
	if len(j.unknown) >= j.opts.MostUnknown {
		k.made().forgot = true
		return
	}
	j.unknown[valueOf{k.number, o.Request}] = o
	k.made().unknowns++
}

func (j *Judge) extendZone(k *key, z *zone, group []touch) {
	f, first, firstClient := z.f, z.first, z.firstClient
	for _, t := range group {
		o := &j.batch[t.op]
		switch t.role {
		case wroteIt:
			z.wrote(o)
			z.ended(o)
		case deletedIt:
			z.wrote(o)
			z.ended(o)
			z.flags |= deletes
		case readIt:
			z.read(o)
		case tookIt:
			z.read(o)
			if z.taker != 0 && z.taker != o.Request+1 {
				j.doubleSwap(k, z, o)
			} else {
				z.taker = o.Request + 1
			}
		case mayHaveWrittenIt:
			z.wrote(o)
		case failedToWriteIt:
			z.flags |= doomed
			z.writer, z.sent = o.Client, o.Sent
		}
	}
	switch {
	case z.is(deletes) && z.reads > 0: // a delete wrote no value
		j.violate(k, Phantom, z, nil, int64(z.reads))
		z.reads = 0
	case z.is(written) && z.f < z.sent && !z.is(start):
		j.violate(k, Phantom, z, nil, 1)
		z.f, z.first = never, 0
		if f >= z.sent {
			z.f, z.first, z.firstClient = f, first, firstClient
		}
		for _, t := range group {
			if o := &j.batch[t.op]; t.role <= tookIt && o.End >= z.sent {
				z.ended(o)
			}
		}
	}
}

// expire ends the zones that were read and that no request can have written any more: all requests
// that were sent before the first read ended have ended.
func (j *Judge) expire(k *key) {
	j.expired = j.expired[:0]
	kept := 0
	for n := range k.zones {
		z := &k.zones[n]
		switch {
		case z.is(written) && z.f == never: // all its reads were too early, so it may not have been written yet
			j.remember(k, Op{Key: k.number, Request: z.number, Sent: z.sent, Client: z.writer, Kind: Write, Outcome: Unknown})
			continue
		case z.is(written), !z.is(doomed) && z.f >= j.before:
		case k.odd().unstated && !z.is(doomed):
			k.rare.unstated = false
			z.flags |= written | start
			z.f, z.first, z.sent = earliest, 0, earliest
		case k.odd().forgot && !z.is(doomed):
			j.second.Forgotten += int64(z.reads)
			continue
		default:
			j.expired = append(j.expired, *z)
			continue
		}
		if kept < n {
			k.zones[kept] = *z
		}
		kept++
	}
	k.zones = k.zones[:kept]
	if len(j.expired) > 0 {
		j.explain(k, j.expired)
	}
}

// mostConflicts bounds the conflicts that are searched in one batch of a key, and so the time that
// hostile answers cost.
const mostConflicts = 32

// exclude finds values that exclude each other.
func (j *Judge) exclude(k *key) {
	for range mostConflicts {
		a, b, found := j.sweep.conflict(k.zones)
		if !found {
			return
		}
		j.choose(k, &k.zones[a], &k.zones[b])
	}
	for n := range k.zones {
		if z := &k.zones[n]; z.is(written) {
			z.forgive()
		}
	}
}

// choose reports two values that exclude each other, and forgets the evidence against one of them:
// reads of the value that was surely written first. If both were written at the same time, it is
// unknown which reads were wrong, and the reads of both are forgotten. So later reads show which
// value stayed, and one wrong answer does not make others look wrong.
func (j *Judge) choose(k *key, older, newer *zone) {
	if older.sent > newer.sent {
		older, newer = newer, older
	}
	if older.f < newer.sent {
		j.violate(k, classOf(older, newer), older, newer, max(j.readsAfter(older.number, newer.f), 1))
		older.forgive()
		return
	}
	reads, others := j.readsAfter(older.number, newer.f), j.readsAfter(newer.number, older.f)
	if others > 0 && (others < reads || reads == 0) {
		older, newer, reads = newer, older, others
	}
	j.violate(k, classOf(older, newer), older, newer, max(reads, 1))
	older.forgive()
	newer.forgive()
}

// readsAfter counts the reads of a value in this batch that were sent after a moment.
func (j *Judge) readsAfter(number, after int64) (n int64) {
	at, _ := slices.BinarySearchFunc(j.touches, number, func(t touch, number int64) int { return cmp.Compare(t.number, number) })
	for ; at < len(j.touches) && j.touches[at].number == number; at++ {
		if t := &j.touches[at]; (t.role == readIt || t.role == tookIt) && j.batch[t.op].Sent > after {
			n++
		}
	}
	return n
}

// close forgets the values that no running request can read any more: another value surely came
// later, and was there before each running request was sent. All values are decided together, so
// none is forgotten while another is still compared with it.
func (j *Judge) close(k *key) {
	before, pending := j.before, false
	absent := k.odd().absent
	for n := range absent {
		before = min(before, absent[n].Sent)
	}
	last, next := none, none // the zones with the greatest and the second greatest s
	for n := range k.zones {
		z := &k.zones[n]
		switch {
		case z.f >= before:
			pending = true
		case last == none || z.s > k.zones[last].s:
			last, next = n, last
		case next == none || z.s > k.zones[next].s:
			next = n
		}
	}
	j.unfinished = len(absent) > 0 || pending && (len(k.zones) > 1 || k.unwritten())
	if last == none || k.odd().unstated && k.unwritten() {
		return
	}
	followed := zoneBound{s: k.zones[last].s, number: k.zones[last].number}
	lastFollowed := followed
	if next != none {
		lastFollowed = zoneBound{s: k.zones[next].s, number: k.zones[next].number}
	}
	kept := 0
	for n := range k.zones {
		z, by := &k.zones[n], followed
		if n == last {
			by = lastFollowed
		}
		if z.f >= before || n == last && next == none || by.s <= z.f {
			if kept < n {
				k.zones[kept] = *z
			}
			kept++
			continue
		}
		if k.rare != nil {
			k.rare.unstated = false // the first value could not be read any more either
		}
		if last := &k.odd().overwritten; j.opts.Deletes && !z.is(deletes) && (!last.known || z.s > last.s) {
			k.made().overwritten = zoneBound{s: z.s, number: z.number, known: true}
		}
		j.memory.add(k, z, by.number)
	}
	k.zones = k.zones[:kept]
}

// unwritten reports whether a value of the key was read without a known write.
func (k *key) unwritten() bool {
	return slices.ContainsFunc(k.zones, func(z zone) bool { return !z.is(written) })
}
