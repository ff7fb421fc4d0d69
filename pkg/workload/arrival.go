package workload

// Arrival decides when requests at a rate are due. The set is closed.
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

// Backlog decides what happens to a request that is due while every client is busy, or its own with
// [BindClient]. The set is closed.
type Backlog string

// The backlogs.
const (
	// BacklogKeep sends the request late.
	BacklogKeep Backlog = "keep"
	// BacklogShed drops the request and counts it as shed.
	BacklogShed Backlog = "shed"
)

// Bind decides which client sends a request at a rate. The set is closed.
type Bind string

// The ways to bind requests to clients. Empty means BindAny, as in resolved loads.
const (
	// BindAny gives a request to the next client that is free.
	BindAny Bind = "any"
	// BindClient gives request i in a step to client i modulo the number of clients, and it waits
	// for that client.
	BindClient Bind = "client"
)

// Binds returns all ways to bind.
func Binds() []Bind { return []Bind{BindAny, BindClient} }

// Backlogs returns all backlogs.
func Backlogs() []Backlog { return []Backlog{BacklogKeep, BacklogShed} }
