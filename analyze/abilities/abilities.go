// Package abilities defines the interfaces by which abilities add rows, sentences and figures to
// reports. Each ability's half lies in a folder below, and package all lists them.
package abilities

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// Half is an ability's part in reports. It implements one or more of [Tabler], [Sectioner],
// [Actor], [Searcher], [Disturber], [Drawer], [Filer], [Setter], [Facter], [Finder], [Explainer]
// and [Comparer].
type Half any

// Row adds a row to the table, in the same section as another row and below it.
type Row struct {
	Name, Unit, Definition string
	// After names the row before it.
	After string
	// Section, if not empty, replaces the section of that row. It names an existing section, or a
	// new one that several abilities can name.
	Section string
	// Cell returns the number for a run and its text, which may contain more than the number.
	Cell func(*run.Run) (m run.Measure, text string)
	// OfStage, instead of Cell, returns the number and the text for each stage of a load.
	OfStage func(*run.Run, *run.Stage) (m run.Measure, text string)
	// Format, if not nil, formats the number in the row of a [Sectioner]. The text from Cell is
	// then a line below it.
	Format func(float64) string
}

// Tabler has rows for the table.
type Tabler interface{ Rows() []Row }

// Sectioner has a section in the table before all others, with rows that depend on the runs.
type Sectioner interface {
	Section() string
	SectionRows([]*run.Run) []Row
}

// Actor is an ability that disturbs the load. Reports on runs in which it acted have a sentence
// about the throughput and the longest pause.
type Actor interface {
	// Name is the experiment kind.
	Name() string
	Acted(*run.Run) bool
}

// Sayer is an [Actor] with its own sentence about columns, given by their names and runs. The
// sentence names no winner.
type Sayer interface {
	Say(names []string, runs [][]*run.Run) string
}

// Carder is an [Actor] whose card readers see first, instead of throughput and latency.
type Carder interface {
	// Card returns nil if there is nothing to show.
	Card(names []string, runs [][]*run.Run) *Card
}

// Card is a small table with notes below it. A row whose label begins with [Indent] details the row
// above.
type Card struct {
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
	Notes []string   `json:"notes,omitempty"`
}

// Indent begins the label for a detail in a [Card].
const Indent = "  "

// Leading returns the rows that are not details.
func (c *Card) Leading() (rows [][]string) {
	for _, row := range c.Rows {
		if !strings.HasPrefix(row[0], Indent) {
			rows = append(rows, row)
		}
	}
	return rows
}

// Gauger is an [Actor] with numbers for comparing runs in which it acted. They replace
// throughput and latency, which the ability itself has changed.
type Gauger interface {
	Actor
	// Gauge returns the name and meaning of the metric. Lower is better.
	Gauge() (name, measures string)
	// Gauges returns the numbers for runs like this one, at least one if the ability acted.
	Gauges(*run.Run) []Gauge
}

// Gauge is a run's number. The label is "" if the run has only one gauge.
type Gauge struct {
	Label, Unit string
	Of          func(*run.Run) run.Measure
}

// Searcher has loads sent to find a rate.
type Searcher interface{ Sought() Sought }

// Sought is a rate that loads are sent to find. Runs that searched for it are compared by it alone:
// every other number in such a run describes a part of its load, at a rate that differs from run to
// run.
type Sought struct {
	// Name is also the experiment kind and the metric. Meaning defines the rate on the first
	// screen.
	Name, Meaning string
	// By reports whether a run searched for it. The other functions are called only for such runs,
	// except Number.
	By func(*run.Run) bool
	// Number is the rate in requests per second. Higher is better.
	Number func(*run.Run) run.Measure
	// Target describes the searched rate, and Asked returns the search settings as JSON, by name.
	// Compared runs must agree in both.
	Target func(*run.Run) string
	Asked  func(*run.Run) map[string]json.RawMessage
	// Say is the sentence about columns, given by their names and runs. requests names their
	// requests in the plural. order returns the orders that may be stated, each worded by claim; ""
	// if no order may be stated.
	Say func(names []string, runs [][]*run.Run, requests string, order Order) string
}

// Order returns the orders between columns that may be stated, each worded by claim.
type Order func(claim func(ahead, ratio, behind string) string) string

// Disturber knows when the ability disturbed a run, which figures over time show.
type Disturber interface {
	// Disturbed returns the times and their meaning.
	Disturbed(*run.Run) (times []Disturbance, meaning string)
}

// Disturbance is a time during which members were disturbed on purpose.
type Disturbance struct{ From, To time.Time }

// Drawer has its own figures about its effects.
type Drawer interface {
	// Figures returns figures for some databases, the most informative first.
	Figures([]Column) []figure.Figure
}

// Filer adds its own files about a run to the data in a report.
type Filer interface {
	Files(*run.Run) []File
	// FileNames are the names that such files can have.
	FileNames() []string
}

// File is written as CSV. Name is the suffix of the file name, and the first record is the header.
type File struct {
	Name    string
	Records [][]string
}

// Column is a database with its runs, and its look in figures: colour, shade, marker, and the panel
// if each database has one.
type Column struct {
	Name                        string
	Key, Variant, Marker, Panel int
	Runs                        []*run.Run
}

// Setter knows whether the ability's settings can have changed the number for a run.
type Setter interface {
	// Settings maps setting paths to functions that report it.
	Settings() map[string]func(*run.Run) bool
}

// Facter knows differences between runs that no single setting states.
type Facter interface{ Facts() []Fact }

// Fact is a property in which two runs may differ. Of returns "" if the records do not show it:
// such a run then differs from no other.
type Fact struct {
	Name string
	Of   func(*run.Run) string
	// Covers has the setting paths that the fact represents.
	Covers []string
}

// Finder has findings about the whole load for the first screen, next to the check that all keys
// were found.
type Finder interface{ Findings() []Finding }

// Finding is one value for each database. Of returns it for all runs of a database, or "".
type Finding struct {
	Name string
	// Short is the name as a column heading.
	Short string
	Of    func([]*run.Run) string
}

// Explainer knows the causes behind response times. It ranks no databases.
type Explainer interface {
	// Explain returns the causes for databases, given by their names and runs; nil if no database
	// has a known one.
	Explain(names []string, runs [][]*run.Run) *Explanation
}

// Explanation has the causes of mean response times.
type Explanation struct {
	// Sentence is for the first screen; "" if nothing is named.
	Sentence  string      `json:"sentence,omitempty"`
	Databases []Explained `json:"databases"`
}

// Explained is a database at one kind of steps.
type Explained struct {
	Database string `json:"database"`
	// Step is the label for the steps; "" if all are alike.
	Step string `json:"step,omitempty"`
	// Runs counts the runs with a verdict.
	Runs int `json:"runs"`
	// Verdict is "named", "partly" or "none found".
	Verdict string `json:"verdict"`
	// Causes were found in at least half of the runs.
	Causes []Cause `json:"causes"`
}

// Cause is something that takes a part of the response time.
type Cause struct {
	Name  string `json:"name"`
	Words string `json:"words"`
	// Verdict is "named" or "partly".
	Verdict string `json:"verdict"`
	Runs    int    `json:"runs"`
	// Low and High bound its share in percent, over all these runs.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Recorded is a run with its result folder.
type Recorded struct {
	Folder string
	Run    *run.Run
}

// Comparer has its own table in a comparison between two sides. The table does not affect the
// verdict.
type Comparer interface {
	// Compare returns nil if there is nothing to compare. The notes name the omitted runs.
	Compare(a, b []Recorded) (c *Comparison, notes []string)
}

// Comparison is a table with values from two sides.
type Comparison struct {
	// Key is its name in the machine-readable document, and Document its value there.
	Key      string
	Document any
	// Heading is over the line names, and Legend explains them.
	Heading, Legend string
	Lines           []Line
}

// Line has the values on both sides.
type Line struct {
	Name string
	A, B float64
}
