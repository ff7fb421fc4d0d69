package metric

// Metrics the sampler computes while it follows the processes.
const (
	CPUPercent Name = "cpu_percent"
	FDs        Name = "fds"
	Processes  Name = "processes"
)

func processTree() Source {
	return Source{Metrics: []Metric{
		{Name: CPUPercent, Column: "CPU-NUM", Unit: "%", Kind: Rate, Scope: Process, Decimals: 2, Help: "growth in CPU-SECONDS over the time since the previous sample; 100 % is one core"},
		{Name: FDs, Column: "FD", Unit: "descriptors", Kind: Gauge, Scope: Process, Help: "open file descriptors"},
		{Name: Processes, Column: "PROCESSES", Unit: "processes", Kind: Gauge, Scope: Process, Help: "processes that run; 0 if none does"},
	}}
}
