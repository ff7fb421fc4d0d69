// Package merge makes one record of a load that several generators issue in parts.
//
// Each generator streams its seconds, as its own recorder makes them, to its [Part]. A [Merger]
// writes each second to one sink when all generators have sent it. Counts add up, sums, minima and
// maxima combine, histograms merge bucket by bucket, and percentiles are taken again from the
// merged histograms. A step's totals are the sums of its seconds. So the record is the one that a
// single generator would have made, in whatever order the seconds arrive.
//
// A lost generator does not block the others: its earlier records stay, the others' records are
// complete, and [Merger.Losses] names it. Memory is bounded by the seconds that one generator may
// be ahead of another.
//
// One second in each step is its last. If the last generator in a step is lost only after its
// seconds were written, a second without rows follows to mark the end, perhaps with held ticks. A
// generator sends member histograms when a step ends. If it is lost before, these histograms lack
// its requests, though the member rows in each second count them.
//
// Some numbers have a special meaning in a merged record. Clients counts the clients of the whole
// load. The time for which the client did not run is the longest in any generator. If a step was
// interrupted, generators stop within the error between their clocks, and 100 ms ticks around that
// moment may overlap. Error messages are bounded for each generator, so a merged record may have
// more than one generator would list.
package merge
