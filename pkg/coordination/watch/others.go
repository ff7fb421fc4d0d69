package watch

// mostOthers bounds how many versions by other writers a judge remembers.
const mostOthers = 1 << 16

// others holds versions that other writers turned out to have made, while watchers may still
// receive them. The oldest are forgotten first. The zero value is empty.
type others struct {
	known map[other]struct{}
	list  []other
	next  int // where the oldest is in a full list
}

// other is a version in a sequence.
type other struct {
	of      *sequence
	version int64
}

// add takes a version, which is new.
func (o *others) add(s *sequence, version int64) {
	if o.known == nil {
		o.known = map[other]struct{}{}
	}
	one := other{s, version}
	o.known[one] = struct{}{}
	if len(o.list) < mostOthers {
		o.list = append(o.list, one)
		return
	}
	delete(o.known, o.list[o.next])
	o.list[o.next] = one
	o.next = (o.next + 1) % mostOthers
}

// has reports whether a version is held.
func (o *others) has(s *sequence, version int64) bool {
	_, known := o.known[other{s, version}]
	return known
}
