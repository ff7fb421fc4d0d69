package consistency

import (
	"cmp"
	"slices"
)

// register judges the requests in a batch on a key, from head on.
func (j *Judge) register(k *key, head int32) {
	if k.tainted {
		k.zones, k.rare, j.unfinished = nil, nil, false
		return
	}
	j.collect(k, head)
	j.extend(k)
	j.expire(k)
	j.exclude(k)
	if len(j.swaps.replaced) > 0 {
		j.swaps.judge(&k.made().versions, j.before, func(first Replaced, again *replacement) { j.replacedAgain(k, first, again) })
	}
	j.judgeAbsent(k)
	j.close(k)
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

// expire ends the zones that were read but that no request can have written any more: all requests
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

// choose reports two values that exclude each other, and forgets the evidence against one: reads of
// the value that was surely written first. If both were written at the same time, it is unknown
// which reads were wrong, and reads of both values are forgotten. So later reads show which value
// stayed, and one wrong answer does not make others look wrong.
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

// readsAfter counts the reads in this batch of a value that were sent after a moment.
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
// later, and was there before each running request was sent. All values are decided together, so no
// value is forgotten while another is still compared with it.
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
