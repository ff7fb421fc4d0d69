package consistency

// Class is a kind of violation.
type Class string

// The classes of violations.
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

// classOf classifies the violation of reading a value after another one was surely there.
func classOf(older, newer *zone) Class {
	switch {
	case older.number == Absent:
		return LostValue
	case newer.is(deletes):
		return ResurrectedValue
	}
	return StaleValue
}
