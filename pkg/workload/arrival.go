package workload

// Arrival decides when the requests of a rate are due. The set is closed.
type Arrival string

// The arrivals.
const (
	// ArrivalConstant spaces requests evenly.
	ArrivalConstant Arrival = "constant"
	// ArrivalPoisson draws exponential gaps: many users who do not know each other.
	ArrivalPoisson Arrival = "poisson"
	// ArrivalSine lets the rate rise and fall around its mean.
	ArrivalSine Arrival = "sine"
	// ArrivalBursts begins each period with a burst.
	ArrivalBursts Arrival = "bursts"
)

// Arrivals returns all arrivals.
func Arrivals() []Arrival {
	return []Arrival{ArrivalConstant, ArrivalPoisson, ArrivalSine, ArrivalBursts}
}

// Waves reports whether the rate changes in periods.
func (a Arrival) Waves() bool { return a == ArrivalSine || a == ArrivalBursts }

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
