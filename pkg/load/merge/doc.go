// Package merge makes one record of a load that several generators issue in parts.
//
// Each generator streams its seconds, as its own recorder makes them, to its [Part]. A
// [Merger] writes each second to one sink when all generators have sent it: counts add,
// sums, minima and maxima combine, histograms merge bucket by bucket, and percentiles are
// taken again from the merged histograms. The totals of a step are those of its seconds.
// So the record is the one that a single generator would have made, in whatever order the
// seconds come.
//
// A generator that is lost holds nobody up: what it sent before stays, the others' records
// complete, and [Merger.Losses] names it. Memory is bounded by the number of seconds that
// one generator may be ahead of another.
//
// One second of each step is its last. Where a step's last generator is lost only after its
// seconds were written, a second without rows follows to mark that, perhaps with ticks that
// were held. A generator sends the histograms of members at the end of a step: those of one
// that is lost before lack its requests, which the members' rows of each second count.
//
// Some numbers have a meaning of their own in a merged record. Clients are those of the
// whole load. The time for which the client did not run is the longest of any generator's.
// Where a step was interrupted, generators stop within their clocks' error of each other,
// and ticks of 100 ms around that moment may overlap. Messages of errors are bounded for
// each generator, so there may be more of them than one would list.
package merge
