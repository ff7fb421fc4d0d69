package consistency

import "slices"

// Instead of a request number, heads have these.
const (
	none     = -1 // the key is listed, and its list has no request (yet)
	unlisted = -2
)

// key tracks a key's values that requests may read. Its 128 bytes are two cache lines.
type key struct {
	number int64
	// zones are the values that a running request may still read, by number. Most keys have one
	// value, whose place is then own: see [Judge.settle].
	zones []zone
	own   [1]zone
	rare  *rare // nil for most keys
	// closed is the number of the last value in the memory, plus one.
	closed  uint64
	queued  bool // among the keys that are looked at again
	tainted bool // it cannot be judged any more
	wrote   bool
}

// rare is the further state for keys with deletes, guarded writes or writes with unknown outcomes,
// or without a known first value.
type rare struct {
	// absent are requests that did not find the key and cannot be judged yet. last is when the
	// key's last delete ended. overwritten is the forgotten value whose zone ended last.
	absent      []Op
	last        int64
	overwritten zoneBound
	versions    versions
	unknowns    int  // unread writes of unknown outcome
	forgot      bool // a write of unknown outcome
	unstated    bool // its first value is not known
}

// ordinary is the rare for most keys. It never changes.
var ordinary = rare{last: earliest}

// odd returns the key's rare for reading.
func (k *key) odd() *rare {
	if k.rare == nil {
		return &ordinary
	}
	return k.rare
}

// made returns the key's rare for changes.
func (k *key) made() *rare {
	if k.rare == nil {
		k.rare = &rare{last: earliest}
	}
	return k.rare
}

// wroteAt returns when the last write was sent whose value may still be there; earliest if no such
// write is known.
func (k *key) wroteAt() int64 {
	at := int64(earliest)
	for n := range k.zones {
		if z := &k.zones[n]; z.is(written) {
			at = max(at, z.sent)
		}
	}
	return at
}

// zoneBound is where a zone ends.
type zoneBound struct {
	s      int64
	number int64
	known  bool
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

// openValue returns the open value for a number, or nil.
func (k *key) openValue(number int64) *zone {
	if at, found := search(k.zones, number); found {
		return &k.zones[at]
	}
	return nil
}

// unwritten reports whether any value was read without a known write.
func (k *key) unwritten() bool {
	return slices.ContainsFunc(k.zones, func(z zone) bool { return !z.is(written) })
}
