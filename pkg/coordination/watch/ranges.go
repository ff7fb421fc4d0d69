package watch

import (
	"maps"
	"slices"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
)

// ranges are the keys that watchers watch: all keys, or several ranges, which watchers take in
// turn. Each range has a sequence for its watchers.
type ranges struct {
	of   watchers.Of
	keys keys
	made func() *sequence // returns a new one

	all *sequence           // for all keys, nil if there are several ranges
	by  map[int64]*sequence // by range number, with at least one watcher
	// each is the number of keys in a range, and several the number of ranges.
	each, several int64
}

func newRanges(of watchers.Of, k keys, made func() *sequence) ranges {
	r := ranges{of: of, keys: k, made: made}
	if of == watchers.All {
		r.all = made()
	} else {
		r.by, r.each, r.several = map[int64]*sequence{}, of.Each(k.existing), of.Ranges(k.existing)
	}
	return r
}

// begin returns the sequence for a watcher that joins.
func (r *ranges) begin(id int32) *sequence {
	if r.all != nil {
		return r.all
	}
	n := int64(id) % r.several
	if r.by[n] == nil {
		r.by[n] = r.made()
	}
	return r.by[n]
}

// watched returns the range of a watcher.
func (r *ranges) watched(id int32) (w database.WatchRange) {
	if r.all != nil {
		return w
	}
	n := int64(id) % r.several
	w.Key = r.keys.name(n * r.each)
	if r.of != watchers.Key {
		w.End = append(r.keys.name(min((n+1)*r.each, r.keys.existing)-1), 0) // right behind its last key
	}
	return w
}

// sequence returns the sequence of a key, nil if no watcher watches it.
func (r *ranges) sequence(key int64) *sequence {
	switch {
	case r.all != nil:
		return r.all
	case key >= r.keys.existing:
		return nil
	}
	return r.by[key/r.each]
}

// sequences returns all sequences.
func (r *ranges) sequences() []*sequence {
	if r.all != nil {
		return []*sequence{r.all}
	}
	var list []*sequence
	for _, n := range slices.Sorted(maps.Keys(r.by)) {
		list = append(list, r.by[n])
	}
	return list
}
