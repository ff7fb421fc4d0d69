// Package consistency judges, while a load runs, whether its requests were answered as by one
// register for each key.
//
// Every value names the request that wrote it, so a key's history is a set of zones, one for each
// value. A zone begins when the first request that wrote or read its value ended (f), and ends when
// the last such request was sent (s). If f < s the value was surely in the register from f to s. A
// value must come before another one if its f is less than the s of the other. The history is
// linearizable if and only if no two values must each come before the other, and no value is read
// before its write was sent (Gibbons and Korach, "Testing Shared Memories", SIAM J. Comput. 26,
// 1997).
//
// A [Judge] takes requests in batches, each with a moment: every request that was sent before that
// moment has ended and was given to the judge. The judge forgets a zone once no running request can
// belong to it, so its memory depends on the number of keys and of concurrent requests, not on all
// requests. It is exact: judging the whole history afterwards would give the same verdict.
//
// A read after a delete does not name the delete. Deletes are judged by conditions that each
// linearizable history keeps, and that some others keep too. Reads that promise less than
// linearizability get a staleness instead of a verdict; see [Options.Weaker].
package consistency
