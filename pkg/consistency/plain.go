package consistency

// plain judges the only request of a batch on a key that has one value, if it reads that value or
// surely replaced it, as most requests do. It reports whether it did; the result is the same as that
// of [Judge.register].
func (j *Judge) plain(k *key) bool {
	j.unfinished = false
	n := k.head
	if n == none || j.next[n] != none || len(k.zones) != 1 || k.rare != nil || k.tainted || j.opts.Weaker || j.opts.Deletes {
		return false
	}
	o, z := &j.batch[n], &k.zones[0]
	switch {
	case o.Outcome != OK || z.flags&^start != written:
		return false
	case o.Kind == Read && o.Read == z.number && o.End >= z.sent:
		z.read(o)
		return true
	case o.Kind == Write && o.Request != z.number && o.End < j.before && z.f < o.Sent && z.s <= o.End:
		k.wrote = true
		after := newZone(o.Request)
		after.wrote(o)
		after.ended(o)
		j.memory.add(k, z, &after)
		*z = after
		return true
	}
	return false
}
