package config

import "time"

// The defaults of an experiment file, besides those of [Defaults].
const (
	// DefaultAgentPort is where agents listen.
	DefaultAgentPort = 3500
	// DefaultSeed makes the same keys and values in every run that names no other.
	DefaultSeed = 1
	// DefaultTrials runs an experiment once.
	DefaultTrials = 1
	// DefaultSettle lets disks and page caches calm down between trials.
	DefaultSettle = 5 * time.Second
	// DefaultResults is the folder that result folders are made in.
	DefaultResults = "results"
	// DefaultConnections is how many connections clients share at most, where one
	// connection may be shared: more cost memory and gain nothing.
	DefaultConnections = 100
	// DefaultRequests is the load's length when neither requests nor duration is
	// given.
	DefaultRequests = 100_000
	// DefaultKeys is how many keys exist before a load that needs some: YCSB's own
	// record count.
	DefaultKeys = 1000
	// DefaultKeyLaw takes every existing key equally often.
	DefaultKeyLaw = "uniform"
	// DefaultRangeLimit is how many keys a range reads at most: YCSB's longest scan.
	DefaultRangeLimit = 100
)

// Defaults is the load of a file that says nothing about it. Requests stays 0 if
// a duration is given; Connections depends on the database; Drain, if not given,
// is the Timeout; Read is the database's first read mode; Keys, KeyLaw and
// RangeLimit are the constants above for operations that need them.
func Defaults() Load {
	return Load{
		Operation:   "write",
		Requests:    DefaultRequests,
		Clients:     100,
		Connections: DefaultConnections,
		Rate:        0,          // a closed loop: each client sends when its last request ended
		Arrival:     "constant", // evenly spaced due times
		Backlog:     "keep",     // what was due is sent late, and its waiting counts
		KeySize:     256,
		ValueSize:   1024,
		SameKey:     false,
		Timeout:     10 * time.Second,
		Drain:       10 * time.Second,
		WarmUp:      0, // everything is measured
		CoolDown:    0,
		Target:      "all", // connections go to all members in turn
	}
}

// DefaultSteps starts, loads and stops databases, and uploads nothing.
func DefaultSteps() Steps { return Steps{Start: true, Load: true, Stop: true} }

// DefaultPlots are the fifteen time plots of the classic reports.
func DefaultPlots() []Plot {
	plots := []Plot{
		{Column: "AVG-LATENCY-MS", YAxis: "Latency(millisecond)"},
		{Column: "AVG-THROUGHPUT", YAxis: "Throughput(Requests/Second)"},
		{Column: "AVG-VOLUNTARY-CTXT-SWITCHES", YAxis: "Voluntary Context Switches"},
		{Column: "AVG-NON-VOLUNTARY-CTXT-SWITCHES", YAxis: "Non-voluntary Context Switches"},
		{Column: "AVG-CPU", YAxis: "Average CPU(%)"},
		{Column: "MAX-CPU", YAxis: "Maximum CPU(%)"},
		{Column: "AVG-VMRSS-MB", YAxis: "Memory(MB)"},
		{Column: "AVG-READS-COMPLETED-DELTA", YAxis: "Disk Reads (Delta per Second)"},
		{Column: "AVG-SECTORS-READ-DELTA", YAxis: "Sectors Read (Delta per Second)"},
		{Column: "AVG-WRITES-COMPLETED-DELTA", YAxis: "Disk Writes (Delta per Second)"},
		{Column: "AVG-SECTORS-WRITTEN-DELTA", YAxis: "Sectors Written (Delta per Second)"},
		{Column: "AVG-READ-BYTES-NUM-DELTA", YAxis: "Read Bytes (Delta per Second)"},
		{Column: "AVG-WRITE-BYTES-NUM-DELTA", YAxis: "Write Bytes (Delta per Second)"},
		{Column: "AVG-RECEIVE-BYTES-NUM-DELTA", YAxis: "Network Receive(bytes) (Delta per Second)"},
		{Column: "AVG-TRANSMIT-BYTES-NUM-DELTA", YAxis: "Network Transmit(bytes) (Delta per Second)"},
	}
	for i := range plots {
		plots[i].XAxis = "Second"
	}
	return plots
}
