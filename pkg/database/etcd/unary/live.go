package unary

import "iter"

// liveCalls are the calls on the open streams of a connection. Stream ids grow, and answers come
// about in their order, so a list sorted by id costs less than a map.
type liveCalls struct {
	list  []liveCall // sorted by id
	first int        // those before have ended
	count int
}

// liveCall is an open stream. Its call is nil once that has ended.
type liveCall struct {
	id   uint32
	call *call
}

// add adds a call, whose id is above all earlier ids.
func (l *liveCalls) add(k *call) {
	if len(l.list) == cap(l.list) {
		l.compact()
	}
	l.list = append(l.list, liveCall{k.id, k})
	l.count++
}

// compact drops ended calls, and makes room for at least twice as many as are left.
func (l *liveCalls) compact() {
	const least = 8
	list := l.list[:0]
	if room := 2*l.count + least; room > cap(l.list) {
		list = make([]liveCall, 0, room)
	}
	for k := range l.all() {
		list = append(list, liveCall{k.id, k})
	}
	l.list, l.first = list, 0
}

// of returns the call of a stream, nil if the stream has ended or was never opened.
func (l *liveCalls) of(id uint32) *call {
	if at := l.find(id); at >= 0 {
		return l.list[at].call
	}
	return nil
}

// find returns where a stream is in the list, or -1.
func (l *liveCalls) find(id uint32) int {
	low, high := l.first, len(l.list)
	for low < high {
		middle := int(uint(low+high) / 2)
		switch at := l.list[middle].id; {
		case at == id:
			return middle
		case at < id:
			low = middle + 1
		default:
			high = middle
		}
	}
	return -1
}

// remove ends a stream.
func (l *liveCalls) remove(id uint32) {
	at := l.find(id)
	if at < 0 || l.list[at].call == nil {
		return
	}
	l.list[at].call = nil
	l.count--
	for l.first < len(l.list) && l.list[l.first].call == nil {
		l.first++
	}
	if l.count == 0 {
		l.list, l.first = l.list[:0], 0
	}
}

// all returns the calls, which may be removed meanwhile.
func (l *liveCalls) all() iter.Seq[*call] {
	return func(yield func(*call) bool) {
		for _, one := range l.list[l.first:] {
			if one.call != nil && !yield(one.call) {
				return
			}
		}
	}
}
