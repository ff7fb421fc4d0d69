// Package observation declares counts and times that are taken during a load and are not response
// times of requests, as package metric does for sampled numbers. The following derive from a
// declaration: a per-second file in the tag's folder, the histograms of times, how parts of a load
// are merged, totals in the manifest, rows in the report, and a row in docs/numbers.md.
package observation

import (
	"fmt"
	"slices"
	"strings"
)

// Merging is how values with one name are merged: within a second, over several seconds, or over
// several parts of a load.
type Merging string

// The ways to merge values. Times are durations in nanoseconds, which a histogram keeps.
const (
	Sum   Merging = "sum"
	Max   Merging = "max"
	Min   Merging = "min"
	Times Merging = "histogram"
)

// Value declares one value.
type Value struct {
	// Name is its column and its key in JSON, such as "snapshot_bytes".
	Name string
	// Unit is the unit of the number; [Times] are in nanoseconds.
	Unit, Definition string
	Merging          Merging
	// Row names the row with its total in reports, below the row After, or "".
	Row, After string
}

// Timed declares times that have no row.
func Timed(name, definition string) Value {
	return Value{Name: name, Unit: "ns", Merging: Times, Definition: definition}
}

// Summed declares a number that is summed and has no row.
func Summed(name, unit, definition string) Value {
	return Value{Name: name, Unit: unit, Merging: Sum, Definition: definition}
}

// Group declares values that are observed together. Name names their files.
type Group struct {
	Name   string
	Values []Value
}

// File returns the name of the per-second file in the folder of a tag.
func (g Group) File() string { return g.Name + ".csv" }

// Log returns the name of the file with the histograms for times, by second.
func (g Group) Log() string { return g.Name + ".hlog" }

// timed reports whether the group has times.
func (g Group) timed() bool {
	return slices.ContainsFunc(g.Values, func(v Value) bool { return v.Merging == Times })
}

// index returns the index for a value name. An undeclared name is a mistake in the program.
func (g Group) index(name string) int {
	i := slices.IndexFunc(g.Values, func(v Value) bool { return v.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("%q is not declared among what %s observes", name, g.Name))
	}
	return i
}

// Table documents group values in Markdown.
func Table(groups []Group) string {
	var b strings.Builder
	b.WriteString("| file | column | unit | merged by | definition | row |\n|---|---|---|---|---|---|\n")
	for _, g := range groups {
		for _, v := range g.Values {
			columns, row := "`"+strings.Join(v.columns(), "`, `")+"`", v.Row
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", g.File(), columns, v.Unit, v.Merging, v.Definition, row)
		}
	}
	return b.String()
}
