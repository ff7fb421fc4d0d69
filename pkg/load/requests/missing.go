package requests

import (
	"slices"
	"sort"
	"sync"
)

// missingKeys tracks keys whose write failed or is still in flight. A load that reads its newest
// keys skips these keys: a miss on one is not the fault of the database. It is safe for concurrent
// use.
type missingKeys struct {
	// reach is the distance below the newest key that a read may go.
	reach int64

	mu   sync.RWMutex
	gaps []gap // ascending, with at least one key between neighbours
}

// gap is the half-open key range [from, to).
type gap struct{ from, to int64 }

// at returns the index of the first gap that ends above a key.
func (m *missingKeys) at(key int64) int {
	return sort.Search(len(m.gaps), func(n int) bool { return m.gaps[n].to > key })
}

// add marks a key as missing.
func (m *missingKeys) add(key int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.at(key)
	if n < len(m.gaps) && m.gaps[n].from <= key {
		return
	}
	joinsNext := n < len(m.gaps) && m.gaps[n].from == key+1
	switch joinsLast := n > 0 && m.gaps[n-1].to == key; {
	case joinsLast && joinsNext:
		m.gaps[n-1].to = m.gaps[n].to
		m.gaps = slices.Delete(m.gaps, n, n+1)
	case joinsLast:
		m.gaps[n-1].to++
	case joinsNext:
		m.gaps[n].from--
	default:
		m.gaps = slices.Insert(m.gaps, n, gap{key, key + 1})
	}
	// Gaps below reach are dropped, so that a failing database does not fill the
	// memory. Each drop moves the others, so it waits until half can go at once.
	if n := m.at(key - m.reach); n > len(m.gaps)/2 {
		m.gaps = slices.Delete(m.gaps, 0, n)
	}
}

// remove marks a key as present.
func (m *missingKeys) remove(key int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.at(key)
	if n == len(m.gaps) || m.gaps[n].from > key {
		return
	}
	switch g := &m.gaps[n]; {
	case g.to-g.from == 1:
		m.gaps = slices.Delete(m.gaps, n, n+1)
	case g.from == key:
		g.from++
	case g.to == key+1:
		g.to--
	default:
		above := gap{key + 1, g.to}
		g.to = key
		m.gaps = slices.Insert(m.gaps, n+1, above)
	}
}

// before returns the key itself, or the next lower key not missing.
func (m *missingKeys) before(key int64) int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n := m.at(key); n < len(m.gaps) && m.gaps[n].from <= key {
		return m.gaps[n].from - 1
	}
	return key
}
