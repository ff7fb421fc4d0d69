package consistency

import "math/bits"

const (
	// keyBlock is the number of keys that are allocated at once.
	keyBlock = 256
	// roomy is the number of zones that the smallest list has room for. Lists of the sizes roomy,
	// twice as much, and so on are kept for other keys.
	roomy = 4
	sizes = 5
	// together is the number of keys that are read from memory before the first is judged.
	together = 16
)

// table has the keys, by place and by number.
type table struct {
	opts  Options
	index index // for keys that are not dense
	keys  []*[keyBlock]key
	// heads are the last requests in a batch for the keys, by place. They lie apart from the keys,
	// so that a batch's lists are made from them alone, in the processor's cache.
	heads []int32
	count int
	dense int64           // keys below it have their numbers as places
	spare [sizes][][]zone // lists that keys returned, by size
	large []zone          // the largest among the longer ones
	read  uint64          // see load
}

// newTable returns a table that has a load's keys in their places.
func newTable(o Options) table {
	t := table{opts: o, dense: max(min(o.Keys, int64(o.MostKeys)), 0)}
	t.heads = make([]int32, 0, t.dense)
	for number := range t.dense {
		t.add(number)
	}
	return t
}

// at returns the key in a place.
func (t *table) at(place int32) *key { return &t.keys[place/keyBlock][place%keyBlock] }

// load reads keys that are judged next. A processor then waits for their memory at once, not for
// that of each key.
func (t *table) load(places []int32) {
	read := t.read
	for _, at := range places {
		k := t.at(at)
		read ^= uint64(k.number) ^ k.closed // one in each cache line
	}
	t.read = read // so that a compiler does not leave it out
}

// find returns a key's place, or none if there are too many keys.
func (t *table) find(number int64) int32 {
	if at := t.place(number); at != none {
		return at
	}
	if t.count >= t.opts.MostKeys {
		return none
	}
	at := int32(t.count)
	t.index.set(number, at)
	t.add(number)
	return at
}

// place returns a key's place, or none.
func (t *table) place(number int64) int32 {
	if number >= 0 && number < t.dense {
		return int32(number)
	}
	return t.index.of(number)
}

// add gives a key the next place.
func (t *table) add(number int64) {
	if t.count%keyBlock == 0 {
		t.keys = append(t.keys, new([keyBlock]key))
	}
	k := t.at(int32(t.count))
	t.count++
	t.heads = append(t.heads, unlisted)
	*k = key{number: number}
	k.zones = k.own[:0]
	switch initial := t.opts.Initial(number); {
	case initial == Unstated:
		k.made().unstated = true
	case initial != Absent || !t.opts.Deletes:
		k.zones = append(k.zones, startZone(initial))
	}
}

// room returns the zones of a key in a list that has room for one more.
func (t *table) room(k *key) []zone {
	if len(k.zones) < cap(k.zones) {
		return k.zones
	}
	var list []zone
	switch n := sizeFor(len(k.zones) + 1); {
	case n < sizes:
		list = t.list(n)
	case cap(t.large) > len(k.zones):
		list, t.large = t.large, nil
	default:
		list = make([]zone, 0, 2*len(k.zones))
	}
	list = append(list, k.zones...)
	t.keep(k.zones)
	return list
}

// sizeFor returns the smallest list class with room for so many zones. There may be no kept list in
// it.
func sizeFor(zones int) int { return bits.Len(uint(zones-1) / roomy) }

// list returns an empty list of the given size.
func (t *table) list(size int) []zone {
	last := len(t.spare[size]) - 1
	if last < 0 {
		return make([]zone, 0, roomy<<size)
	}
	list := t.spare[size][last]
	t.spare[size] = t.spare[size][:last]
	return list
}

// keep keeps a list that its key no longer has, unless it lies in the key.
func (t *table) keep(list []zone) {
	room := cap(list)
	if room < roomy {
		return
	}
	if n := sizeFor(room); n < sizes {
		t.spare[n] = append(t.spare[n], list[:0])
	} else if room > cap(t.large) {
		t.large = list[:0]
	}
}

// settle moves the only zone of a key back to its own place, to free the list for others.
func (t *table) settle(k *key) {
	if len(k.zones) > len(k.own) || cap(k.zones) <= len(k.own) {
		return
	}
	list := k.zones
	k.zones = append(k.own[:0], list...)
	t.keep(list)
}
