package declared

import "regexp"

// LogRule turns matching log lines into events.
type LogRule struct {
	// Event is the event kind, a few stable words such as "leader changed".
	Event string `json:"event"`
	// Pattern is a regular expression (RE2) searched for in each line.
	Pattern string `json:"pattern"`
	// Value, if not empty, is a regular expression with one group, which holds a duration
	// or an amount in the lines that match Pattern. A line without a value is an event too.
	Value string `json:"value,omitempty"`
	// Unit is the unit of the value: "ns", "us", "ms" or "s" for a duration as a number, [UnitText]
	// for one with its unit, as in 1.062s. Any other word names an amount.
	Unit string `json:"unit,omitempty"`
	// Help is one line on what the event means for a run.
	Help string `json:"help,omitempty"`
}

// UnitText is the unit for durations as Go prints them.
const UnitText = "text"

// JSONField returns the Value for a field of JSON lines.
func JSONField(name string) string { return `"` + regexp.QuoteMeta(name) + `":"?([^",}]*)` }

// LogTime finds a line's time.
type LogTime struct {
	// Pattern is a regular expression with one group, which holds the time.
	Pattern string `json:"pattern"`
	// Layout is a layout for package time. A time without a zone is in UTC, one without a year is
	// in the year of the run.
	Layout string `json:"layout"`
}
