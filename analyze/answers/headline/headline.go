// Package headline reduces a report to its first screen: the answer from package answers, a grade,
// each database's numbers at equal points, the doubts that could change the order, and the settings
// that differ. Text, JSON, README, page and the end of a control run all show it.
package headline

import (
	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/answers/choose"
	"github.com/coreos/dbtester/analyze/answers/curve"
)

// Headline is the first screen of a report.
type Headline struct {
	// What describes the members, the load, the trials and the date in one line.
	What string `json:"what"`
	// Verdict is the sentence in the answer and its basis.
	Verdict string          `json:"verdict"`
	Answer  *answers.Answer `json:"answer"`
	Grade   Grade           `json:"grade"`
	// Points are the numbers for all databases at equal points in the load.
	Points Points `json:"points"`
	// Card is shown in place of the points; nil without one.
	Card *abilities.Card `json:"card,omitempty"`
	// Facts are numbers about the whole load: the longest pause, keys, costs.
	Facts Facts `json:"facts"`
	// Why has the causes of the mean response times; nil if unknown.
	Why *abilities.Explanation `json:"why,omitempty"`
	// Doubts are the marks, classified by whether they could change the order.
	Doubts []Doubt `json:"doubts"`
	Trust  Trust   `json:"trust"`
	// Unequal lists the settings that differ between the databases, one per entry.
	Unequal []string `json:"unequal"`
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
	// Sweeps are the curves of sweeps, and Choice answers a need; either may be empty.
	Sweeps []curve.Sweep  `json:"sweeps,omitempty"`
	Choice *choose.Choice `json:"choice,omitempty"`
}

// Column is one database in one experiment, with all its trials.
type Column struct {
	// Name is the tag of the first run. Text is the column heading, which adds the actual version
	// if it contradicts the tag. Dated is when the first run started in UTC if the columns come
	// from several experiments.
	Name  string `json:"name"`
	Text  string `json:"text"`
	Dated string `json:"dated,omitempty"`
	// Point names the point in a sweep, such as "3 members"; "" outside a sweep. Columns at
	// different points are not compared.
	Point string `json:"point,omitempty"`
	// Trials counts the runs in the column.
	Trials int `json:"trials"`
	// Tags names the runs in the tables for single trials.
	Tags []string `json:"tags"`
	// Valid is false if a mark makes any number in the column invalid.
	Valid bool `json:"valid"`
	// title is Name, with the actual version if it contradicts the tag.
	title string
}

// Better is the direction in which a number improves.
type Better string

const (
	More Better = "more"
	Less Better = "less"
)

// Row is one number for every column.
type Row struct {
	Name       string `json:"name"`
	Unit       string `json:"unit"`
	Definition string `json:"definition"`
	Better     Better `json:"better"`
	Cells      []Cell `json:"cells"`
	ofStage    bool
}

// Cell is one number for one column.
type Cell struct {
	// Text is the value with its unit, or the reason why it is missing.
	Text string `json:"text"`
	// Value is the median over the trials; nil if it was not measured.
	Value *float64 `json:"value"`
	// Low and High are bounds of the kind in Doubt; nil for a single trial.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// N is how many trials are behind the value.
	N int `json:"n"`
	// Doubt names the kind of bounds in Low and High; "" without bounds.
	Doubt string `json:"doubt,omitempty"`
	// Spread formats Low, High and N; "" for a single trial.
	Spread string `json:"spread,omitempty"`
	// Of names the part of the load that the number describes; "" means the whole load.
	Of string `json:"of,omitempty"`
	// Marks qualify the value.
	Marks []string `json:"marks,omitempty"`
	// Missing is the reason why there is no value.
	Missing string `json:"missing,omitempty"`
	// AtLeast means that the value is only a lower bound.
	AtLeast bool `json:"at_least,omitempty"`
}
