// Package results is the result folder: its manifest, its canonical records and
// the classic CSV files derived from them. Control writes a folder, analyze
// reads it, and nothing else passes between them.
//
// Canonical records are appended as they happen, whole lines at a time, so that a
// killed run can be read up to its end; readers drop an incomplete last line and
// return [ErrTruncated]. Columns are found by name. Times are unix seconds of
// the client's clock, latencies nanoseconds, sizes bytes.
//
//	manifest.json            the experiment, the machines, the marks, the digests of
//	                         all files below that are recorded ([Manifest])
//	TAG/intervals.csv        a row per second, step, phase and operation ([Interval])
//	TAG/errors.csv           a row per second, class and message of errors ([ErrorCount])
//	TAG/events.jsonl         members, leaders, boundaries of steps ([Event])
//	TAG/latency.hlog         ok latencies, a line per second and [Series]
//	TAG/latency-minutes.hlog those of latency.hlog, merged by minute
//	TAG/latency-total.hlog   latencies of all outcomes, a line per [Series]
//	TAG/*-system-metrics.csv a row per second of one machine ([Sample])
//	TAG/client-control.log   control's report of this database's run
//	TAG/N-agent.log          the agent's log of member N during the run
//	TAG/logs/N-*.log         the logs of member N's commands
//
// [Summarize] makes a load's numbers, always from sums and merged histograms and never
// from averages or percentiles of others; [Derive] writes them in the classic tool's
// files.
package results
