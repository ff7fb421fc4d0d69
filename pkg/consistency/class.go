package consistency

// Class classifies violations.
type Class string

// The violation classes.
const (
	StaleValue       Class = "stale read"
	LostValue        Class = "not found"
	Phantom          Class = "phantom"
	ResurrectedValue Class = "read after delete"
	DoubleSwap       Class = "double swap"
)

// Classes returns all classes.
func Classes() []Class {
	return []Class{StaleValue, LostValue, Phantom, ResurrectedValue, DoubleSwap}
}

// classOf classifies a violation: a value was read after another one was surely there.
func classOf(older, newer *zone) Class {
	switch {
	case older.number == Absent:
		return LostValue
	case newer.is(deletes):
		return ResurrectedValue
	}
	return StaleValue
}
