package metric

import "slices"

// Series is a value per second that reports derive from a metric.
type Series struct {
	Metric Name
	// Rate means growth per second instead of the value.
	Rate bool
	// Largest means the value of the highest server instead of the mean over the servers.
	Largest bool
	// Scale converts the unit of the metric to that of the series; 0 means 1.
	Scale float64
	// Column names the series over all servers, which plots use. Server names the series of one
	// server without its number; "" if there is no such series.
	Column, Server string
	// Axis is the label of the plot every report has; "" if the plot is only made on request.
	Axis string
}

// AllSeries lists the series: those in the classic reports, ordered like their columns by server,
// and one for each metric with [Metric.Report].
func AllSeries() []Series {
	all := slices.Concat(processSeries(), deviceSeries(), interfaceSeries(), []Series{
		{Metric: Clients, Column: "AVG-CLIENT-NUM", Server: "CLIENT-NUM"},
		{Metric: VoluntarySwitches, Rate: true, Column: "AVG-VOLUNTARY-CTXT-SWITCHES-DELTA", Server: "VOLUNTARY-CTXT-SWITCHES-DELTA"},
		{Metric: NonvoluntarySwitches, Rate: true, Column: "AVG-NON-VOLUNTARY-CTXT-SWITCHES-DELTA", Server: "NON-VOLUNTARY-CTXT-SWITCHES-DELTA"},
	})
	for _, m := range System().Metrics() {
		if m.Report {
			all = append(all, m.series())
		}
	}
	return all
}

// series returns the growth per second of a counter, or the value of any other metric.
func (m Metric) series() Series {
	s := Series{Metric: m.Name, Rate: m.Kind == Counter, Column: "AVG-" + m.Column, Server: m.Column}
	if s.Rate {
		s.Column, s.Server = s.Column+"-DELTA", s.Server+"-DELTA"
	}
	return s
}

func processSeries() []Series {
	return []Series{
		{Metric: VoluntarySwitches, Column: "AVG-VOLUNTARY-CTXT-SWITCHES", Server: "VOLUNTARY-CTXT-SWITCHES", Axis: "Voluntary Context Switches"},
		{Metric: NonvoluntarySwitches, Column: "AVG-NON-VOLUNTARY-CTXT-SWITCHES", Server: "NON-VOLUNTARY-CTXT-SWITCHES", Axis: "Non-voluntary Context Switches"},
		{Metric: CPUPercent, Column: "AVG-CPU", Server: "CPU", Axis: "Average CPU(%)"},
		{Metric: CPUPercent, Largest: true, Column: "MAX-CPU", Axis: "Maximum CPU(%)"},
		{Metric: Load1, Column: "AVG-SYSTEM-LOAD-1-MIN", Server: "LOAD-AVERAGE-1-MINUTE"},
		{Metric: RSSBytes, Scale: 1e-6, Column: "AVG-VMRSS-MB", Server: "VMRSS-MB", Axis: "Memory(MB)"},
	}
}

func deviceSeries() []Series {
	return []Series{
		{Metric: ReadsCompleted, Column: "AVG-READS-COMPLETED", Server: "READS-COMPLETED"},
		{Metric: ReadsCompleted, Rate: true, Column: "AVG-READS-COMPLETED-DELTA", Server: "READS-COMPLETED-DELTA", Axis: "Disk Reads (Delta per Second)"},
		{Metric: SectorsRead, Column: "AVG-SECTORS-READ", Server: "SECTORS-READ"},
		{Metric: SectorsRead, Rate: true, Column: "AVG-SECTORS-READ-DELTA", Server: "SECTORS-READ-DELTA", Axis: "Sectors Read (Delta per Second)"},
		{Metric: WritesCompleted, Column: "AVG-WRITES-COMPLETED", Server: "WRITES-COMPLETED"},
		{Metric: WritesCompleted, Rate: true, Column: "AVG-WRITES-COMPLETED-DELTA", Server: "WRITES-COMPLETED-DELTA", Axis: "Disk Writes (Delta per Second)"},
		{Metric: SectorsWritten, Column: "AVG-SECTORS-WRITTEN", Server: "SECTORS-WRITTEN"},
		{Metric: SectorsWritten, Rate: true, Column: "AVG-SECTORS-WRITTEN-DELTA", Server: "SECTORS-WRITTEN-DELTA", Axis: "Sectors Written (Delta per Second)"},
		{Metric: SectorsRead, Rate: true, Scale: SectorBytes, Column: "AVG-READ-BYTES-NUM-DELTA", Server: "READ-BYTES-DELTA", Axis: "Read Bytes (Delta per Second)"},
		{Metric: SectorsWritten, Rate: true, Scale: SectorBytes, Column: "AVG-WRITE-BYTES-NUM-DELTA", Server: "WRITE-BYTES-DELTA", Axis: "Write Bytes (Delta per Second)"},
	}
}

func interfaceSeries() []Series {
	return []Series{
		{Metric: ReceiveBytes, Column: "AVG-RECEIVE-BYTES-NUM", Server: "RECEIVE-BYTES-NUM"},
		{Metric: ReceiveBytes, Rate: true, Column: "AVG-RECEIVE-BYTES-NUM-DELTA", Server: "RECEIVE-BYTES-NUM-DELTA", Axis: "Network Receive(bytes) (Delta per Second)"},
		{Metric: TransmitBytes, Column: "AVG-TRANSMIT-BYTES-NUM", Server: "TRANSMIT-BYTES-NUM"},
		{Metric: TransmitBytes, Rate: true, Column: "AVG-TRANSMIT-BYTES-NUM-DELTA", Server: "TRANSMIT-BYTES-NUM-DELTA", Axis: "Network Transmit(bytes) (Delta per Second)"},
	}
}
