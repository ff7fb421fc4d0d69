package consistency

// memory holds the last replaced values of all keys, to explain reads of them. A value's record
// names the previous record of its key.
type memory struct {
	most   int
	blocks [][]remembered
	total  uint64
	next   int // the place of the next record
}

// memoryBlock is how many values are allocated at once. Blocks are never copied.
const memoryBlock = 1024

// held returns how many values are remembered.
func (m *memory) held() uint64 { return min(m.total, uint64(m.most)) }

// at returns the record of a number.
func (m *memory) at(number uint64) *remembered {
	n := number % uint64(m.most)
	return &m.blocks[n/memoryBlock][n%memoryBlock]
}

type remembered struct {
	zone
	// by is the number of the value that surely followed this one. In a weaker mode it is the
	// moment at which this value was surely replaced.
	by       int64
	previous uint64 // number plus one of the key's previous record
}

func (m *memory) add(k *key, z *zone, by int64) {
	if m.next == m.most {
		m.next = 0
	}
	block, place := m.next/memoryBlock, m.next%memoryBlock
	if block == len(m.blocks) {
		m.blocks = append(m.blocks, make([]remembered, min(memoryBlock, m.most-m.next)))
	}
	r := &m.blocks[block][place]
	r.zone, r.by, r.previous = *z, by, k.closed
	m.next++
	m.total++
	k.closed = m.total
}

// each calls a function with the key's records, the last one first, until it returns false. All
// keys together have at most memory.most records.
func (m *memory) each(k *key, do func(*remembered) bool) {
	for at := k.closed; at != 0 && m.total-at < m.held(); {
		r := m.at(at - 1)
		if !do(r) {
			return
		}
		at = r.previous
	}
}

// find returns a value that was replaced, nil if it is not remembered.
func (m *memory) find(k *key, number int64) (found *remembered) {
	m.each(k, func(r *remembered) bool {
		if r.number == number {
			found = r
		}
		return found == nil
	})
	return found
}

// failures are the last failed writes.
type failures struct {
	all  []Op
	next int
}

// mostFailures bounds the remembered failures.
const mostFailures = 1024

func (f *failures) add(o *Op) {
	if len(f.all) < mostFailures {
		f.all = append(f.all, *o)
		return
	}
	f.all[f.next] = *o
	f.next = (f.next + 1) % mostFailures
}

// find returns a failed write of a value, nil if it is not remembered.
func (f *failures) find(key, number int64) *Op {
	for n := range f.all {
		if o := &f.all[n]; o.Key == key && o.Request == number {
			return o
		}
	}
	return nil
}

// explain reports violations: reads of values, by number, that no running request can have written.
// These values were replaced, or they are phantoms.
func (j *Judge) explain(k *key, read []zone) {
	left, searches := len(read), mostConflicts
	var after *remembered // the key's next record
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

// before returns the first value that was surely there before a key without deletes was not found. It
// is nil without such a value, and if the key was found.
func (k *key) before(missing *zone) (found *zone) {
	for n := range k.zones {
		if z := &k.zones[n]; missing.number == Absent && z.is(written) && z.f < missing.s && (found == nil || z.f < found.f) {
			found = z
		}
	}
	return found
}

// readAgain reports a read of a value that was replaced by another one, nil if that is not known. If
// the other value has lost the requests that show this, because they took part in another violation,
// the read is reported as one of a forgotten value.
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

// openValue returns an open value of the key, nil for other values.
func (k *key) openValue(number int64) *zone {
	if at, found := search(k.zones, number); found {
		return &k.zones[at]
	}
	return nil
}

// classOfUnwritten returns the class of a value that was read but is neither open nor remembered.
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
