package mark

import "math"

// Unknown returns an unbounded effect on n.
func Unknown(n Number) Effect { return Effect{Number: n} }

// nothing returns the effect of a mark that changes no number.
func nothing(Values) Effect { return Effect{Number: None, Share: new(float64)} }

// unknown returns unbounded effects on n.
func unknown(n Number) func(Values) Effect {
	return func(Values) Effect { return Unknown(n) }
}

// upTo returns the effect on a number by at most the largest of some percentages. It is unknown if
// one of them is.
func upTo(n Number, percents ...string) func(Values) Effect {
	return func(v Values) Effect {
		most := 0.0
		for _, name := range percents {
			p, known := v[name]
			if !known || math.IsNaN(p) {
				return Unknown(n)
			}
			most = max(most, p/100)
		}
		return Effect{Number: n, Share: &most}
	}
}

// Wider joins the effects of two marks with one code: the number that either can change, and the
// larger share.
func (e Effect) Wider(o Effect) Effect {
	switch {
	case e.Number == None:
		return o
	case o.Number == None:
		return e
	case e.Number != o.Number:
		e.Number = Both
	}
	if e.Share == nil || o.Share == nil {
		e.Share = nil
	} else if *o.Share > *e.Share {
		e.Share = o.Share
	}
	return e
}
