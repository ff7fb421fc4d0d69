package consistency

// judgeAbsent judges requests, in a load with deletes, that did not find the key, once every delete
// that was sent before they ended has ended. Such a request is a violation if a value was surely
// there when it was sent, and no delete can have come after that value, because the last delete
// ended before one of the requests with the value was sent. More cannot be concluded, because all
// deletes look alike.
func (j *Judge) judgeAbsent(k *key) {
	if len(k.odd().absent) == 0 {
		return
	}
	keep := k.rare.absent[:0]
	for _, o := range k.rare.absent {
		if o.End >= j.before {
			keep = append(keep, o)
			continue
		}
		if newer := j.survivor(k, o.Sent); newer != nil {
			older := newZone(Absent)
			older.read(&o)
			j.violate(k, LostValue, &older, newer, 1)
		}
	}
	k.rare.absent = keep
}

// survivor returns a value that was surely there before a moment and that no delete removed, or
// nil.
func (j *Judge) survivor(k *key, moment int64) (found *zone) {
	removed := k.odd()
	for n := range k.zones {
		z := &k.zones[n]
		if z.is(written) && !z.is(deletes) && z.f < moment && z.s > removed.last && (found == nil || z.s > found.s) {
			found = z
		}
	}
	if found == nil && removed.overwritten.known && removed.overwritten.s > removed.last {
		if r := j.memory.find(k, removed.overwritten.number); r != nil {
			return &r.zone
		}
		z := newZone(removed.overwritten.number)
		z.s = removed.overwritten.s
		return &z
	}
	return found
}
