package consistency

import (
	"cmp"
	"slices"
)

// weaker measures the staleness of reads in a batch on a key, from head on. In this mode only
// writes order the values: one surely replaced another if its write was sent after the other was
// surely there.
func (j *Judge) weaker(k *key, head int32) {
	if k.tainted {
		k.zones, j.unfinished = nil, false
		return
	}
	j.unfinished = false
	j.collect(k, head)
	j.holdReads()
	j.extendWeaker(k)
	replaced := j.replacer.at(k.zones)
	recalled := j.recall(k)
	slices.SortFunc(j.touches, func(a, b touch) int { return cmp.Compare(j.batch[a.op].Sent, j.batch[b.op].Sent) })
	for _, t := range j.touches {
		if t.role == readIt || t.role == tookIt {
			j.measure(k, t, replaced, recalled)
		}
	}
	j.closeWeaker(k, replaced)
}

// holdReads keeps the reads that cannot be judged yet for the next batch: a write that was sent
// before they ended may still run.
func (j *Judge) holdReads() {
	keep := j.touches[:0]
	for _, t := range j.touches {
		if o := &j.batch[t.op]; (t.role == readIt || t.role == tookIt) && o.End >= j.before {
			held := *o
			if held.Kind = Read; held.Outcome != NotFound {
				held.Outcome = OK
			}
			j.waiting = append(j.waiting, held)
			continue
		}
		keep = append(keep, t)
	}
	j.touches = keep
}

// extendWeaker adds writes to the zones of their values, and reads of values that are open.
func (j *Judge) extendWeaker(k *key) {
	for from := 0; from < len(j.touches); {
		number, to := j.touches[from].number, from+1
		for to < len(j.touches) && j.touches[to].number == number {
			to++
		}
		group := j.touches[from:to]
		from = to
		at, found := search(k.zones, number)
		if !found {
			z := newZone(number)
			j.open(k, &z)
			switch first, last := group[0].role, group[len(group)-1].role; {
			case first > tookIt:
				j.keep(k, group)
				continue
			case first > deletedIt && last != mayHaveWrittenIt && !z.is(written):
				continue
			}
			k.zones = slices.Insert(j.keys.room(k), at, z)
		}
		z := &k.zones[at]
		for _, t := range group {
			o := &j.batch[t.op]
			switch t.role {
			case wroteIt, deletedIt:
				z.wrote(o)
				z.ended(o)
			case readIt, tookIt:
				z.ended(o)
			case mayHaveWrittenIt:
				z.wrote(o)
			}
		}
	}
}

// recall returns the values that were read and are remembered but not open, by number.
func (j *Judge) recall(k *key) []remembered {
	var wanted []int64
	for _, t := range j.touches {
		if t.role != readIt && t.role != tookIt {
			continue
		}
		if _, open := search(k.zones, t.number); !open && (len(wanted) == 0 || wanted[len(wanted)-1] != t.number) {
			wanted = append(wanted, t.number)
		}
	}
	var found []remembered
	if len(wanted) > 0 {
		j.memory.each(k, func(r *remembered) bool {
			if _, is := slices.BinarySearch(wanted, r.number); is {
				found = append(found, *r)
			}
			return len(found) < len(wanted)
		})
		slices.SortFunc(found, func(a, b remembered) int { return cmp.Compare(a.number, b.number) })
	}
	return found
}

// measure counts a read.
func (j *Judge) measure(k *key, t touch, replaced []int64, recalled []remembered) {
	o := &j.batch[t.op]
	var z *zone
	since := int64(never)
	if at, open := search(k.zones, t.number); open {
		z, since = &k.zones[at], replaced[at]
	} else if at, known := slices.BinarySearchFunc(recalled, t.number, func(r remembered, number int64) int { return cmp.Compare(r.number, number) }); known {
		z, since = &recalled[at].zone, recalled[at].by
	} else {
		j.second.Unrecognised++
		return
	}
	if o.Sent > since {
		j.second.StaleReads++
		j.second.Staleness = max(j.second.Staleness, o.Sent-since)
		j.stale.add(o.Sent - since)
	}
	if j.steps.back(k.number, o, z) {
		j.second.StepsBack++
	}
}

// closeWeaker remembers the values that were replaced before any running request was sent: no later
// write can have replaced them earlier.
func (j *Judge) closeWeaker(k *key, replaced []int64) {
	keep := k.zones[:0]
	for n, z := range k.zones {
		if replaced[n] < j.before {
			j.memory.add(k, &z, replaced[n])
			continue
		}
		j.unfinished = j.unfinished || replaced[n] != never
		keep = append(keep, z)
	}
	k.zones = keep
}
