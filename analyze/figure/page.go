package figure

import (
	"image/color"

	"gonum.org/v1/plot/vg"
)

// Page size in points, 1/72 inch: type has its natural size on paper, and remains legible on a
// phone screen at two thirds of this width. A page with much text is higher.
const (
	pageWidth  = 8 * vg.Inch
	pageHeight = vg.Inch * 14 / 3
	plotHeight = 2.4 * vg.Inch // minimum
	margin     = vg.Length(14)
	gap        = vg.Length(9) // between blocks
	tickGap    = vg.Length(6) // between an axis and its labels
	// spareWidth is the part of the page width to which text is wrapped, and spread the factor for
	// text next to other elements. A viewer without the requested fonts may substitute a wider one.
	spareWidth = 0.86
	spread     = 1.12
)

// Typefaces.
var (
	titleType    = typeface{size: 16.5, bold: true, color: ink}
	subtitleType = typeface{size: 12.5, color: soft}
	legendType   = typeface{size: 12.5, color: ink}
	labelType    = typeface{size: 12.5, color: ink}
	tickType     = typeface{size: 12.5, color: ink}
	stepType     = typeface{size: 11.5, color: soft}
	noteType     = typeface{size: 10.5, color: soft}
	emptyType    = typeface{size: 24, color: boundary}
)

// page is the layout of a figure: the wrapped text and position of each block.
type page struct {
	Figure
	width, height   vg.Length
	title, subtitle []string
	notes           []string
	legend          legend
	steps           steps
	plot            plane
	// empty means that no series or cell has a drawable value.
	empty bool
	// panels are the small multiples, if any.
	panels []page
	// inline means that the panel titles name the series.
	inline bool
	// axisTitles has the title lines for each vertical axis, from Y or PanelY.
	axisTitles [][]string
	// leastPlot is the height that wrapped titles need, for the plot or for each panel with its own
	// axis. It is 0 if all titles have one line.
	leastPlot vg.Length
	// dots are the details on bars.
	dots []Series
	// eventKinds lists the event kinds in the legend.
	eventKinds []string
}

// legend is the block of names above the plot: a grid that is filled column by column.
type legend struct {
	entries []entry
	rows    int
	lefts   []vg.Length // one per column
	height  vg.Length
}

// entry is one name with its sample.
type entry struct {
	Series
	kind  Kind
	lines []string
	band  color.Color // nil if there is no band
	line  bool
	// shades means that the entry is for a heat map.
	shades bool
	// symbol is the number of the event kind from 1; 0 means no symbol.
	symbol int
}

// steps are the boundaries in a figure with positions for their labels: rows above the plot,
// grouped by database.
type steps struct {
	all  []step
	rows int
}

type step struct {
	Boundary
	at, text vg.Length // positions for line and label
	row      int       // counted upwards from the plot; -1: no room for the label
}
