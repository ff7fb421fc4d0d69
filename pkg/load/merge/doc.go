// Package merge makes one record of a load that several generators issue in parts.
//
// Each generator streams its seconds, as its own recorder makes them, to its [Part]. A
// [Merger] writes each second to one sink when all generators have sent it. Counts add up,
// sums, minima and maxima combine, histograms merge bucket by bucket, and percentiles are
// taken again from the merged histograms. The totals of a step are the sums of its seconds.
// So the record is the one that a single generator would have made, in whatever order the
// seconds arrive.
//
// A lost generator does not block the others: its earlier records stay, the others' records
// complete, and [Merger.Losses] names it. Memory is bounded by the number of seconds that
// one generator may be ahead of another.
//
// One second of each step is its last. If a step's last generator is lost only after its
// seconds were written, a second without rows follows to mark the end, perhaps with held
// ticks. A generator sends the histograms of members at the end of a step. If it is lost
// before, these histograms lack its requests, though the members' rows of each second count
// them.
//
// Some numbers have a special meaning in a merged record. Clients counts the clients of the whole
// load. The time for which the client did not run is the longest of any generator's. If a
// step was interrupted, generators stop within their clocks' error of each other, and ticks
// of 100 ms around that moment may overlap. Messages of errors are bounded for each
// generator, so a merged record may have more than one generator would list.
package merge
