package load

import (
	"slices"
	"sort"
	"sync"
)

// absent are the keys whose write did not end ok, or not yet: a load that reads
// what it created last passes them over, for a key that is not there through no
// fault of the database is not the database's error. It is safe for concurrent
// use.
type absent struct {
	// reach is how far below the newest key any is asked for.
	reach int64

	mu   sync.RWMutex
	gaps []gap // in order, with keys between them
}

// gap are the keys from one to before another.
type gap struct{ from, to int64 }

// at is the first gap that ends behind a key.
func (a *absent) at(key int64) int {
	return sort.Search(len(a.gaps), func(n int) bool { return a.gaps[n].to > key })
}

// add takes a key for absent.
func (a *absent) add(key int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.at(key)
	if n < len(a.gaps) && a.gaps[n].from <= key {
		return
	}
	joinsNext := n < len(a.gaps) && a.gaps[n].from == key+1
	switch joinsLast := n > 0 && a.gaps[n-1].to == key; {
	case joinsLast && joinsNext:
		a.gaps[n-1].to = a.gaps[n].to
		a.gaps = slices.Delete(a.gaps, n, n+1)
	case joinsLast:
		a.gaps[n-1].to++
	case joinsNext:
		a.gaps[n].from--
	default:
		a.gaps = slices.Insert(a.gaps, n, gap{key, key + 1})
	}
	// What nobody asks for any more is forgotten, so that a database that fails does
	// not fill the memory; half of all at once, for the others move.
	if n := a.at(key - a.reach); n > len(a.gaps)/2 {
		a.gaps = slices.Delete(a.gaps, 0, n)
	}
}

// remove takes a key for present.
func (a *absent) remove(key int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.at(key)
	if n == len(a.gaps) || a.gaps[n].from > key {
		return
	}
	switch g := &a.gaps[n]; {
	case g.to-g.from == 1:
		a.gaps = slices.Delete(a.gaps, n, n+1)
	case g.from == key:
		g.from++
	case g.to == key+1:
		g.to--
	default:
		behind := gap{key + 1, g.to}
		g.to = key
		a.gaps = slices.Insert(a.gaps, n+1, behind)
	}
}

// before is the key itself or the next one below it that is not absent.
func (a *absent) before(key int64) int64 {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if n := a.at(key); n < len(a.gaps) && a.gaps[n].from <= key {
		return a.gaps[n].from - 1
	}
	return key
}
