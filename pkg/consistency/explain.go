package consistency

// mostConflicts bounds the conflicts that are searched in one batch on a key, and so the time that
// hostile answers cost.
const mostConflicts = 32

// explain reports violations: reads of values, by number, that no running request can have written.
// These values were replaced, or they are phantoms.
func (j *Judge) explain(k *key, read []zone) {
	left, searches := len(read), mostConflicts
	var after *remembered // the next record of the key
	j.memory.each(k, func(r *remembered) bool {
		newer := after
		after = r
		at, found := search(read, r.number)
		if !found || read[at].is(doomed) || read[at].reads == 0 {
			return true
		}
		by := k.openValue(r.by)
		switch {
		case by != nil:
		case newer != nil && newer.number == r.by:
			by = &newer.zone
		case searches > 0:
			searches--
			if later := j.memory.find(k, r.by); later != nil {
				by = &later.zone
			}
		}
		j.readAgain(k, r, by, &read[at])
		left--
		return left > 0
	})
	for n := range read {
		if z := &read[n]; z.reads > 0 {
			j.violate(k, j.classOfUnwritten(k, z), z, k.before(z), int64(z.reads))
		}
	}
}

// readAgain reports a read of a value that another one had replaced; by is nil if that one is not
// known. If the other value has lost the requests that show this, because they took part in another
// violation, the read is reported like that of a forgotten value.
func (j *Judge) readAgain(k *key, r *remembered, by, read *zone) {
	older := r.zone
	if older.s, older.last, older.lastClient = read.s, read.last, read.lastClient; read.s < r.s {
		older.s, older.last, older.lastClient = r.s, r.last, r.lastClient
	}
	class := Phantom
	switch {
	case by == nil || older.f >= by.s || by.f >= older.s:
		if !older.is(deletes) {
			class = StaleValue
		}
		if older, by = *read, nil; older.number == Absent {
			class = LostValue
		}
	case !older.is(deletes):
		class = classOf(&older, by)
	}
	j.violate(k, class, &older, by, int64(read.reads))
	read.reads = 0
}

// classOfUnwritten returns the class for a value that was read but is neither open nor remembered.
func (j *Judge) classOfUnwritten(k *key, z *zone) Class {
	switch {
	case z.is(doomed):
		return Phantom
	case z.number == Absent:
		return LostValue
	case z.number == j.opts.Initial(k.number):
		return StaleValue
	}
	if o := j.failed.find(k.number, z.number); o != nil {
		z.flags |= doomed
		z.writer, z.sent = o.Client, o.Sent
		return Phantom
	}
	if j.opts.Wrote != nil && j.opts.Wrote(k.number, z.number) {
		return StaleValue
	}
	return Phantom
}
