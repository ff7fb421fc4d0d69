package consistency

// plain judges the requests of a batch on a key that has one value, if each was sent after the one
// before had ended, and either reads the value or surely replaces it, as most requests do. It reports
// whether it did; the verdict is the same as that of [Judge.register].
func (j *Judge) plain(k *key) bool {
	j.unfinished = false
	n := k.head
	if n == none || len(k.zones) != 1 || k.rare != nil || k.tainted || j.opts.Weaker || j.opts.Deletes || k.zones[0].flags&^start != written {
		return false
	}
	if j.next[n] != none {
		return j.inTurn(k)
	}
	o, z := &j.batch[n], &k.zones[0]
	switch {
	case z.readBy(o):
		z.read(o)
		return true
	case z.replacedBy(o, j.before):
		k.wrote = true
		after := zoneOf(o)
		j.memory.add(k, z, &after)
		*z = after
		return true
	}
	return false
}

// readBy reports whether a request read a value that was written before it ended.
func (z *zone) readBy(o *Op) bool {
	return o.Kind == Read && o.Outcome == OK && o.Read == z.number && o.End >= z.sent
}

// replacedBy reports whether a request replaced a value, and nobody can read the value any more.
func (z *zone) replacedBy(o *Op, before int64) bool {
	return o.Kind == Write && o.Outcome == OK && o.Request != z.number && o.End < before && z.f < o.Sent && z.s <= o.End
}

// zoneOf is the value of a write that ended ok.
func zoneOf(o *Op) zone {
	z := newZone(o.Request)
	z.wrote(o)
	z.ended(o)
	return z
}

// mostInTurn is how many requests of a batch on one key are judged one after the other.
const mostInTurn = 4

// inTurn is plain for several requests. It changes nothing if one of them needs more than that.
func (j *Judge) inTurn(k *key) bool {
	var ops [mostInTurn]*Op // in the order in which they were sent
	count := 0
	for n := k.head; n != none; n = j.next[n] {
		if count == mostInTurn {
			return false
		}
		o, at := &j.batch[n], count
		for ; at > 0 && ops[at-1].Sent > o.Sent; at-- {
			ops[at] = ops[at-1]
		}
		ops[at] = o
		count++
	}
	var replaced [mostInTurn]zone
	writes, z := 0, k.zones[0]
	for n, o := range ops[:count] {
		switch {
		case n > 0 && o.Sent <= ops[n-1].End:
			return false
		case z.readBy(o):
			z.read(o)
		case z.replacedBy(o, j.before):
			replaced[writes] = z
			writes++
			z = zoneOf(o)
		default:
			return false
		}
	}
	for n := range writes {
		by := &z
		if n+1 < writes {
			by = &replaced[n+1]
		}
		j.memory.add(k, &replaced[n], by)
	}
	k.wrote = k.wrote || writes > 0
	k.zones[0] = z
	return true
}
