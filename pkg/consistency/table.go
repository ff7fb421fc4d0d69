package consistency

import "slices"

const (
	// keyBlock is how many keys are allocated at once.
	keyBlock = 256
	// roomy is the number of zones that a new list has room for, and roomiest the most room of a
	// list that is kept for other keys.
	roomy    = 4
	roomiest = 64
)

// table is the keys of a judge, by place and by number.
type table struct {
	opts  Options
	index index // of keys that are not dense
	keys  []*[keyBlock]key
	count int
	dense int64    // keys below it have their numbers as places
	spare [][]zone // lists that keys returned
}

// newTable returns a table with the keys of a load in their places.
func newTable(o Options) table {
	t := table{opts: o, dense: min(o.Keys, int64(o.MostKeys))}
	for number := range t.dense {
		t.add(number)
	}
	return t
}

// at returns the key in a place.
func (t *table) at(place int32) *key { return &t.keys[place/keyBlock][place%keyBlock] }

// find returns a key and its place, nil if there are too many keys.
func (t *table) find(number int64) (int32, *key) {
	if at := t.place(number); at != none {
		return at, t.at(at)
	}
	if t.count >= t.opts.MostKeys {
		return 0, nil
	}
	at := int32(t.count)
	t.index.set(number, at)
	return at, t.add(number)
}

// place returns the place of a key, or none.
func (t *table) place(number int64) int32 {
	if number >= 0 && number < t.dense {
		return int32(number)
	}
	return t.index.of(number)
}

// add gives a key the next place.
func (t *table) add(number int64) *key {
	if t.count%keyBlock == 0 {
		t.keys = append(t.keys, new([keyBlock]key))
	}
	k := t.at(int32(t.count))
	t.count++
	*k = key{number: number, head: none}
	k.zones = k.own[:0]
	switch initial := t.opts.Initial(number); {
	case initial == Unstated:
		k.made().unstated = true
	case initial != Absent || !t.opts.Deletes:
		k.zones = append(k.zones, startZone(initial))
	}
	return k
}

// room returns the zones of a key in a list that has room for one more.
func (t *table) room(k *key) []zone {
	if len(k.zones) < cap(k.zones) {
		return k.zones
	}
	if len(k.zones) >= roomy {
		return slices.Grow(k.zones, 1)
	}
	list := make([]zone, 0, roomy)
	if n := len(t.spare); n > 0 {
		list, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	return append(list, k.zones...)
}

// settle moves the only zone of a key back to its own place, to free the list for others.
func (t *table) settle(k *key) {
	if len(k.zones) > len(k.own) || cap(k.zones) <= len(k.own) {
		return
	}
	list := k.zones
	k.zones = append(k.own[:0], list...)
	if cap(list) <= roomiest {
		t.spare = append(t.spare, list[:0])
	}
}
