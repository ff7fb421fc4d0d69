package results

import "strconv"

// The files in a run folder and in each tag folder below it.
const (
	FileManifest  = "manifest.json"
	FileIntervals = "intervals.csv"
	FileProgress  = "progress.csv"
	FileMembers   = "members.csv"
	// FileMembersLatency holds a histogram for each member and step.
	FileMembersLatency = "latency-members.hlog"
	FileErrors         = "errors.csv"
	// FileProbes has every probe of a load that probes its members.
	FileProbes = "probes.csv"
	// FileFaults has every fault of a load, with its effect.
	FileFaults  = "faults.csv"
	FileLatency = "latency.hlog"
	// FileMinutes has the histograms from FileLatency merged by minute: see [MinuteLog].
	FileMinutes = "latency-minutes.hlog"
	FileTotal   = "latency-total.hlog"
	FileEvents  = "events.jsonl"
	// FileControlLog is control's own log for one database's run, as text.
	FileControlLog = "client-control.log"
	// FileClock compares the member clocks with the client clock, by heartbeat.
	FileClock  = "clock.csv"
	FileDisk   = "server-disk-space-usage-summary.csv"
	FileClient = "client-system-metrics.csv"
	// FileServer names the samples of a server on its agent; in a tag folder it is "N-" +
	// FileServer with N from 1.
	FileServer = "server-system-metrics.csv"
	// FileDatabase is what a member reports on itself, named like FileServer.
	FileDatabase = "database-metrics.csv"
	// FileAgentLog is an agent's log during the run, named like FileServer.
	FileAgentLog = "agent.log"
	DirLogs      = "logs"
	// DirGenerators holds a folder for each generator, N from 1, with its [FileClient].
	DirGenerators = "generators"
	DirReport     = "report"

	// The classic files that [Derive] makes.
	FileClassicSummary     = "client-latency-distribution-summary.csv"
	FileClassicPercentile  = "client-latency-distribution-percentile.csv"
	FileClassicAll         = "client-latency-distribution-all.csv"
	FileClassicTimeseries  = "client-latency-throughput-timeseries.csv"
	FileClassicByKey       = "client-latency-by-key-number.csv"
	FileClientInterpolated = "client-system-metrics-interpolated.csv"
	FileServerInterpolated = "server-system-metrics-interpolated.csv"
)

// ServerFile returns the file name for server samples in a tag folder; n counts from 1.
func ServerFile(n int) string { return strconv.Itoa(n) + "-" + FileServer }

// DatabaseFile returns the file name for what a member reports on itself, in a tag folder; n counts
// from 1.
func DatabaseFile(n int) string { return strconv.Itoa(n) + "-" + FileDatabase }
