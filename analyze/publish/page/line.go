package page

import "math"

// Line collects the points in a series on a live page, which come one by one with ascending x. From
// a long line it keeps only the lowest and the highest point in each of at most liveBins parts of
// the axis, so its size is bounded. A copy stays unchanged while the original grows. It is not safe
// for concurrent use.
type Line struct {
	from, width float64 // of the bins on the axis; width 0 has a bin for each point
	full        []bin
	open        bin // the last one, which grows; nothing before the first point
	// xs and ys are the points in full bins as JSON, with commas between them.
	xs, ys []byte
}

// dot is a point on a line. In a gap, y is NaN.
type dot struct{ x, y float64 }

// bin is a part of the axis with its lowest and its highest point. They are the same if it has one
// point, or only gaps.
type bin struct {
	low, high dot
	at        int // number of the part, from 1; 0 has no points
}

// Add adds a point. A NaN y is a gap.
func (l *Line) Add(x, y float64) {
	one := bin{low: dot{x, y}, high: dot{x, y}, at: 1}
	switch {
	case l.open.at == 0:
		l.from, l.open = x, one
		return
	case l.width == 0:
		one.at = l.open.at + 1
	default:
		one.at = max(int((x-l.from)/l.width)+1, l.open.at)
	}
	if one.at == l.open.at {
		l.open = l.open.with(one)
		return
	}
	l.close()
	l.open = one
	most := liveBins
	if l.width == 0 {
		most = 2 * liveBins
	}
	if len(l.full) >= most {
		l.widen(max(2*l.width, (x-l.from)/(liveBins/2), 1e-9))
	}
}

// Empty reports whether the line has no points.
func (l *Line) Empty() bool { return l.open.at == 0 }

// close moves the open bin to the full ones.
func (l *Line) close() {
	l.full = append(l.full, l.open)
	l.xs, l.ys = l.open.encode(l.xs, l.ys)
}

// widen changes the bin width. Copies keep their bins.
func (l *Line) widen(width float64) {
	wide := Line{from: l.from, width: width}
	for _, b := range append(l.full[:len(l.full):len(l.full)], l.open) {
		b.at = int((b.low.x-l.from)/width) + 1
		switch {
		case wide.open.at == b.at:
			wide.open = wide.open.with(b)
			continue
		case wide.open.at > 0:
			wide.close()
		}
		wide.open = b
	}
	*l = wide
}

// with returns a bin that also has the points in a later bin.
func (b bin) with(later bin) bin {
	switch {
	case math.IsNaN(later.low.y):
		return b
	case math.IsNaN(b.low.y):
		later.at = b.at
		return later
	}
	if later.low.y < b.low.y {
		b.low = later.low
	}
	if later.high.y > b.high.y {
		b.high = later.high
	}
	return b
}

// encode appends the points in the bin with ascending x.
func (b bin) encode(xs, ys []byte) (moreXs, moreYs []byte) {
	first, second := b.low, b.high
	if second.x < first.x {
		first, second = second, first
	}
	xs, ys = first.encode(xs, ys)
	if second.x > first.x {
		xs, ys = second.encode(xs, ys)
	}
	return xs, ys
}

func (d dot) encode(xs, ys []byte) (moreXs, moreYs []byte) {
	if len(xs) > 0 {
		xs, ys = append(xs, ','), append(ys, ',')
	}
	return appendNumber(xs, d.x), appendNumber(ys, d.y)
}

// appendLines appends the points in lines as the fields xs and ys in an object.
func appendLines(b []byte, lines []Line) []byte {
	b = appendLists(append(b, `"xs":[`...), lines, func(l *Line) (full, open []byte) {
		open, _ = l.last()
		return l.xs, open
	})
	b = appendLists(append(b, `],"ys":[`...), lines, func(l *Line) (full, open []byte) {
		_, open = l.last()
		return l.ys, open
	})
	return append(b, ']')
}

// last encodes the open bin.
func (l *Line) last() (xs, ys []byte) {
	if l.Empty() {
		return nil, nil
	}
	return l.open.encode(nil, nil)
}

// appendLists appends a list for each line, which is in two parts.
func appendLists(b []byte, lines []Line, parts func(*Line) (full, open []byte)) []byte {
	for i := range lines {
		if i > 0 {
			b = append(b, ',')
		}
		full, open := parts(&lines[i])
		b = append(append(b, '['), full...)
		if len(full) > 0 && len(open) > 0 {
			b = append(b, ',')
		}
		b = append(append(b, open...), ']')
	}
	return b
}

// liveBins limits the bins per line on a live page, which gets all points every second.
const liveBins = 300
