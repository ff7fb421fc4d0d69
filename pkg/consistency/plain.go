package consistency

// mostInTurn is the most requests in a batch on one key that are judged one after the other.
const mostInTurn = 4

// plain judges the requests in a batch on a key, from head on, if the key has one value, each
// request was sent after the one before had ended, and each either reads the value or surely
// replaces it, as most do. If so it returns true, and the verdict is the same as from
// [Judge.register]. Otherwise it changes nothing.
func (j *Judge) plain(k *key, head int32) bool {
	j.unfinished = false
	if head == none || len(k.zones) != 1 || k.rare != nil || k.tainted || j.opts.Weaker || j.opts.Deletes || k.zones[0].flags&^start != written {
		return false
	}
	if j.next[head] != none {
		return j.inTurn(k, head)
	}
	o, z := &j.batch[head], &k.zones[0]
	is := z.bounds()
	switch {
	case is.readBy(o):
		z.read(o)
	case is.replacedBy(o, j.before):
		j.replace(k, z, o)
	default:
		return false
	}
	return true
}

// bounds decide whether a request is plain.
type bounds struct{ number, f, s, sent int64 }

func (z *zone) bounds() bounds { return bounds{z.number, z.f, z.s, z.sent} }

// readBy reports whether a request read a value that was written before it ended.
func (b *bounds) readBy(o *Op) bool {
	return o.Kind == Read && o.Outcome == OK && o.Read == b.number && o.End >= b.sent
}

// replacedBy reports whether a request replaced a value, and no request can read the value any more.
func (b *bounds) replacedBy(o *Op, before int64) bool {
	return o.Kind == Write && o.Outcome == OK && o.Request != b.number && o.End < before && b.f < o.Sent && b.s <= o.End
}

// replace remembers the value of a key and puts that of a write in its place.
func (j *Judge) replace(k *key, z *zone, o *Op) {
	k.wrote = true
	j.memory.add(k, z, o.Request)
	*z = zone{
		number: o.Request, f: o.End, s: o.Sent, sent: o.Sent, first: o.Request + 1, last: o.Request + 1,
		firstClient: o.Client, lastClient: o.Client, writer: o.Client, flags: written,
	}
}

// inTurn applies plain to several requests.
func (j *Judge) inTurn(k *key, head int32) bool {
	var ops [mostInTurn]*Op // in the order in which they were sent
	count := 0
	for n := head; n != none; n = j.next[n] {
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
	z := &k.zones[0]
	is := z.bounds()
	for n, o := range ops[:count] {
		switch {
		case n > 0 && o.Sent <= ops[n-1].End:
			return false
		case is.readBy(o):
			is.f, is.s = min(is.f, o.End), max(is.s, o.Sent)
		case is.replacedBy(o, j.before):
			is = bounds{number: o.Request, f: o.End, s: o.Sent, sent: o.Sent}
		default:
			return false
		}
	}
	for _, o := range ops[:count] {
		if o.Kind == Read {
			z.read(o)
		} else {
			j.replace(k, z, o)
		}
	}
	return true
}
