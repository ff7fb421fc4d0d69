package table

// Table sections. Each states which requests and which time its rows describe. The measured part is
// the load without warm-up and cool-down, until the last request was issued.
const (
	sectionLoad       = "Throughput and latency (measured part)"
	sectionLatency    = "More on latency (measured part)"
	sectionOperations = "By operation (measured part)"
	sectionSteps      = "By step (measured part)"
	sectionPlaces     = "Where requests went (measured part)"
	sectionOutcomes   = "Requests by their end (whole load)"
	sectionMachines   = "Machines (whole load)"
	sectionClient     = "The client's own part (whole load)"
	sectionMembers    = "Members (whole load)"
	sectionOwn        = "Members' own metrics (measured part)"
	sectionLogs       = "Clocks and logs (whole run)"
	sectionData       = "Data directories (after the stop)"
	sectionConditions = "Conditions"
)
