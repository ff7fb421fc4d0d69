package consistency

// memory holds the last replaced values of all keys, to explain reads of them. The record of a
// value names the previous one of its key.
type memory struct {
	most   int
	blocks [][]remembered
	total  uint64
	next   int // where the next record goes
}

// memoryBlock is the number of values that are allocated at once. Blocks are never copied.
const memoryBlock = 1024

// held returns the number of values that are remembered.
func (m *memory) held() uint64 { return min(m.total, uint64(m.most)) }

// at returns a record by number.
func (m *memory) at(number uint64) *remembered {
	n := number % uint64(m.most)
	return &m.blocks[n/memoryBlock][n%memoryBlock]
}

type remembered struct {
	zone
	// by is the number of the value that surely followed this one. In a weaker mode it is the
	// moment at which this value was surely replaced.
	by       int64
	previous uint64 // the number of the key's previous record, plus one
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

// find returns a replaced value, nil if it is not remembered.
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

// find returns the failed write of a value, nil if it is not remembered.
func (f *failures) find(key, number int64) *Op {
	for n := range f.all {
		if o := &f.all[n]; o.Key == key && o.Request == number {
			return o
		}
	}
	return nil
}
