// Package results is the result folder: its manifest, its canonical records and
// the classic CSV files derived from them. Control writes a folder, analyze
// reads it, and nothing else passes between them.
//
// Canonical records are appended as they happen, whole lines at a time, so that a killed run can be
// read up to its end; readers drop an incomplete last line and return [ErrTruncated]. Columns are
// found by name. Times are unix seconds of the client clock, latencies nanoseconds, sizes bytes.
//
//	manifest.json            the experiment, the machines, the marks, and digests for
//	                         all recorded files below ([Manifest])
//	TAG/intervals.csv        a row per second, step, phase and operation ([Interval])
//	TAG/errors.csv           a row per second, error class and message ([ErrorCount])
//	TAG/events.jsonl         members, leaders, step boundaries ([Event])
//	TAG/latency.hlog         ok latencies, a line per second and [Series]
//	TAG/latency-minutes.hlog the same, merged by minute
//	TAG/latency-total.hlog   latencies for all outcomes, a line per [Series]
//	TAG/*-system-metrics.csv a row per second on one machine ([Sample])
//	TAG/client-control.log   control's report on this database's run
//	TAG/N-agent.log          the agent log for member N during the run
//	TAG/logs/N-*.log         the logs from member N's commands
//
// [Summarize] makes load numbers, always from sums and merged histograms and never from other
// averages or percentiles; [Derive] writes them in the classic tool's files.
package results
