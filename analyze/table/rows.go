package table

import (
	"cmp"
	"slices"

	"github.com/coreos/dbtester/analyze/abilities"
	abilitylist "github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
)

// sections lists the sections in display order. Sections of abilities come first or before the
// machine details.
func sections() (list []string) {
	for _, own := range abilitylist.Sections() {
		list = append(list, own.Section())
	}
	list = append(list, sectionLoad, sectionOutcomes, sectionMachines, sectionData, sectionLatency, sectionOperations, sectionSteps, sectionPlaces)
	details := []string{sectionClient, sectionMembers, sectionOwn, sectionLogs, sectionConditions}
	for _, own := range abilitylist.Rows() {
		if own.Section != "" && !slices.Contains(list, own.Section) && !slices.Contains(details, own.Section) {
			list = append(list, own.Section)
		}
	}
	return append(list, details...)
}

// All returns the rows in file order: first those in the classic tables, with their classic order
// and names. Operations and steps add their own rows. To add a row, add it to the list for its
// section. A row that describes another part of the run than its neighbours names its own section.
func All(runs []*run.Run) []Row {
	var all []Row
	for _, part := range []struct {
		section string
		rows    []Row
	}{
		{sectionLoad, slices.Concat(throughputRows(), latencyRows(), percentileRows(), availabilityRows())},
		{sectionMachines, slices.Concat(trafficRows(), peakRows(), diskRows())},
		{sectionLatency, timingRows()},
		{sectionOperations, operationRows(runs)},
		{sectionSteps, stepRows(runs)},
		{sectionOutcomes, outcomeRows()},
		{sectionPlaces, placeRows(runs)},
		{sectionClient, clientRows()},
		{sectionMembers, memberRows()},
		{sectionLogs, clockRows()},
		{sectionMembers, metricRows()},
		{sectionOwn, ownRows()},
		{sectionConditions, conditionRows()},
	} {
		for _, r := range part.rows {
			r.section = cmp.Or(r.section, part.section)
			all = append(all, r)
		}
	}
	return withAbilities(append(all, sectionRows(runs)...))
}

// sectionRows returns the rows in sections that abilities add.
func sectionRows(runs []*run.Run) (rows []Row) {
	for _, own := range abilitylist.Sections() {
		for _, row := range own.SectionRows(runs) {
			rows = append(rows, Row{section: own.Section(), Name: row.Name, Unit: row.Unit, Definition: row.Definition, Ours: true, Cell: sectionCell(row)})
		}
	}
	return rows
}

// sectionCell prints the number in a row, with the text below it.
func sectionCell(own abilities.Row) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		m, below := own.Cell(r)
		c := cellOf(m, own.Format)
		if m.Known() {
			c.Spread = below
		}
		return c
	}
}

// withAbilities inserts the rows of abilities, each after the row that it names.
func withAbilities(rows []Row) []Row {
	for _, own := range abilitylist.Rows() {
		at := slices.IndexFunc(rows, func(r Row) bool { return r.Name == own.After })
		rows = slices.Insert(rows, at+1, Row{
			section: cmp.Or(own.Section, rows[at].section), Name: own.Name, Unit: own.Unit, Definition: own.Definition, Ours: true,
			Cell: abilityCell(own),
		})
	}
	return rows
}

// abilityCell prints the number in a row that an ability adds: one, or one for each stage.
func abilityCell(own abilities.Row) func(*run.Run) Cell {
	print := func(m run.Measure, text string) Cell {
		return cellOf(m, func(float64) string { return text }).verbatim()
	}
	if own.OfStage == nil {
		return func(r *run.Run) Cell { return print(own.Cell(r)) }
	}
	return func(r *run.Run) Cell {
		return byStage(func(g *run.Stage) Cell { return print(own.OfStage(r, g)) })(r)
	}
}
