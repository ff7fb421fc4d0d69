// Package abilities is the frame of what reports show of abilities: a half of each lies in a
// folder below, and package all lists them. A half shows something by the optional interfaces
// of this package.
package abilities

import (
	"time"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
)

// Half is what reports show of an ability. It implements [Tabler], [Actor], [Disturber],
// [Drawer], [Filer], [Setter], [Facter], [Finder] or [Comparer], or several of them.
type Half any

// Row is a row of the table, in the section of another row and behind it.
type Row struct {
	Name, Unit, Definition string
	// After is the name of the row before it.
	After string
	// Cell returns the number of a run and its text, which may hold more than the number.
	Cell func(*run.Run) (m run.Measure, text string)
}

// Tabler has rows of the table.
type Tabler interface{ Rows() []Row }

// Actor is an ability that disturbs the load: where it acted, reports have a sentence about
// the throughput and the longest pause.
type Actor interface {
	// Name is the kind of experiment.
	Name() string
	Acted(*run.Run) bool
}

// Sayer is an [Actor] with a sentence of its own about columns, by their names and runs. It
// names no winner.
type Sayer interface {
	Say(names []string, runs [][]*run.Run) string
}

// Carder is an [Actor] whose card is what readers see first, in place of throughput and
// latency.
type Carder interface {
	// Card returns nil if there is nothing to show.
	Card(names []string, runs [][]*run.Run) *Card
}

// Card is a small table with notes below it.
type Card struct {
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
	Notes []string   `json:"notes,omitempty"`
}

// Gauger is an [Actor] with numbers by which runs where it acted are compared, in place of
// throughput and latency, which what it did has changed.
type Gauger interface {
	Actor
	// Gauge is the name of the metric, and what it measures. Lower is better.
	Gauge() (name, measures string)
	// Gauges are the numbers of runs like one, at least one if it acted there.
	Gauges(*run.Run) []Gauge
}

// Gauge is a number of a run. Its label is "" for the only one.
type Gauge struct {
	Label, Unit string
	Of          func(*run.Run) run.Measure
}

// Disturber knows when the ability disturbed a run, which figures over time show.
type Disturber interface {
	// Disturbed returns the times, and what they are.
	Disturbed(*run.Run) (times []Disturbance, meaning string)
}

// Disturbance is a time in which members were disturbed on purpose.
type Disturbance struct{ From, To time.Time }

// Drawer has figures of its own about what it did.
type Drawer interface {
	// Figures returns the figures of some databases, those that show most first.
	Figures([]Column) []figure.Figure
}

// Filer has files of its own about a run, among the data of a report.
type Filer interface {
	Files(*run.Run) []File
}

// File is a CSV file with the end of its name. The first record is the header.
type File struct {
	Name    string
	Records [][]string
}

// Column is a database with its runs, and how figures show it.
type Column struct {
	Name         string
	Key, Variant int
	Runs         []*run.Run
}

// Setter knows when settings of the ability can have changed a number of a run.
type Setter interface {
	// Settings returns that by the paths of the settings.
	Settings() map[string]func(*run.Run) bool
}

// Facter knows what runs may differ in that no setting says alone.
type Facter interface{ Facts() []Fact }

// Fact is something in which two runs may differ. Of returns "" if the records of a run do not
// show it: such a run differs from none.
type Fact struct {
	Name string
	Of   func(*run.Run) string
	// Covers are the paths of the settings that it stands for.
	Covers []string
}

// Finder has findings about the whole load for the first screen, beside whether all keys were
// found.
type Finder interface{ Findings() []Finding }

// Finding is one value for each database. Of returns it for all runs of a database, and "" if
// there is none.
type Finding struct {
	Name string
	// Short is the name as a column heading.
	Short string
	Of    func([]*run.Run) string
}

// Recorded is a run with its result folder.
type Recorded struct {
	Folder string
	Run    *run.Run
}

// Comparer has a table of its own in a comparison of two sides, which does not affect the
// verdict.
type Comparer interface {
	// Compare returns nil if there is nothing to compare. The notes name what is left out.
	Compare(a, b []Recorded) (c *Comparison, notes []string)
}

// Comparison is a table of the values of two sides.
type Comparison struct {
	// Key is its name in the document for programs, and Document its value there.
	Key      string
	Document any
	// Heading is over the names of the lines, and Legend explains them.
	Heading, Legend string
	Lines           []Line
}

// Line is a value of both sides.
type Line struct {
	Name string
	A, B float64
}
