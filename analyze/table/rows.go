package table

import (
	"slices"

	"github.com/coreos/dbtester/analyze/run"
)

// All returns the rows of the table by section: those of the classic tables first, in
// their order and with their names. Operations and steps add rows of their own. To add
// a row, add it to the list of its section.
func All(runs []*run.Run) []Row {
	var all []Row
	for _, part := range []struct {
		section string
		rows    []Row
	}{
		{"Throughput and latency", slices.Concat(throughputRows(), latencyRows(), percentileRows(), availabilityRows())},
		{"Machines", slices.Concat(trafficRows(), peakRows(), diskRows())},
		{"More on latency", timingRows()},
		{"By operation", operationRows(runs)},
		{"By step", stepRows(runs)},
		{"Requests by their end", outcomeRows()},
		{"Where requests went", placeRows(runs)},
		{"The client's own part", clientRows()},
		{"Members", slices.Concat(memberRows(), clockRows(), metricRows(), ownRows())},
		{"Conditions", conditionRows()},
	} {
		for _, r := range part.rows {
			r.section = part.section
			all = append(all, r)
		}
	}
	return all
}
