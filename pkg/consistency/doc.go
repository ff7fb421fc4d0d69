// Package consistency judges whether the requests of a load were answered as by one register
// for each key, while the load runs.
//
// Every value names the request that wrote it, so a key's history is a set of zones, one for
// each value. A zone begins when the first request that wrote or read its value ended (f), and
// it ends when the last of them was sent (s). If f < s the value was surely in the register
// from f to s. A value must come before another one if its f is less than the other's s. The
// history is linearizable if and only if no two values must each come before the other, and no
// value is read before its write was sent (Gibbons and Korach, "Testing Shared Memories", SIAM
// J. Comput. 26, 1997).
//
// A [Judge] takes requests in batches, each with a moment: every request that was sent before
// it has ended and was given to the judge. It forgets a zone once no running request can belong
// to it, so its memory depends on keys and on requests at the same time, not on how many there
// were. It is exact: a verdict is the same as that of the whole history, judged afterwards.
//
// Deletes have no numbers in what is read after them. They are judged by conditions that each
// linearizable history keeps, and that some others keep too. Reads that promise less than
// linearizability get no verdict but a staleness; see [Options.Weaker].
package consistency
