package results

// Timing is the moment from which a latency counts. It is the column prefix, and the first word of
// tags in histogram logs.
type Timing string

// The timings.
const (
	// TimingResponse counts from when the request was due.
	TimingResponse Timing = "response"
	// TimingService counts from when the driver was called.
	TimingService Timing = "service"
)

// Timings lists all timings in column order.
var Timings = [...]Timing{TimingResponse, TimingService}
