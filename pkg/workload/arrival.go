package workload

// Arrival decides when the requests of a rate are due. The set is closed.
type Arrival string

// The arrivals.
const (
	// ArrivalConstant spaces requests evenly.
	ArrivalConstant Arrival = "constant"
	// ArrivalPoisson draws exponential gaps: many users who do not know each other.
	ArrivalPoisson Arrival = "poisson"
)

// Arrivals returns all arrivals.
func Arrivals() []Arrival { return []Arrival{ArrivalConstant, ArrivalPoisson} }

// Backlog is the treatment of a request that is due while every client is busy. The set is closed.
type Backlog string

// The backlogs.
const (
	// BacklogKeep sends the request late.
	BacklogKeep Backlog = "keep"
	// BacklogShed drops the request and counts it as shed.
	BacklogShed Backlog = "shed"
)

// Backlogs returns all backlogs.
func Backlogs() []Backlog { return []Backlog{BacklogKeep, BacklogShed} }
