package consistency

// judgeAbsent judges the requests of a load with deletes that did not find the key, once every
// delete that was sent before they ended has ended. One is a violation if a value was surely
// there when it was sent, and no delete can have come after that value: the last one ended
// before a request of the value was sent. More cannot be said, as all deletes look alike.
func (j *Judge) judgeAbsent(k *key) {
	if len(k.absent) == 0 {
		return
	}
	keep := k.absent[:0]
	for _, o := range k.absent {
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
	k.absent = keep
}

// survivor returns a value that was surely there before a moment and that no delete removed, nil
// without one.
func (j *Judge) survivor(k *key, moment int64) (found *zone) {
	for n := range k.zones {
		z := &k.zones[n]
		if z.is(written) && !z.is(deletes) && z.f < moment && z.s > k.lastDelete && (found == nil || z.s > found.s) {
			found = z
		}
	}
	if found == nil && k.overwritten.known && k.overwritten.s > k.lastDelete {
		if r := j.memory.find(k, k.overwritten.number); r != nil {
			return &r.zone
		}
		z := newZone(k.overwritten.number)
		z.s = k.overwritten.s
		return &z
	}
	return found
}
