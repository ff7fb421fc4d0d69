package workload

// Failover decides where a client goes when its member is lost. The set is closed.
type Failover string

// The fail-overs.
const (
	// FailoverNext moves the connection to the next member, like a client that knows all
	// members.
	FailoverNext Failover = "next"
	// FailoverNone waits for the same member, like a client that knows one address.
	FailoverNone Failover = "none"
)

// Failovers returns all fail-overs.
func Failovers() []Failover { return []Failover{FailoverNext, FailoverNone} }
