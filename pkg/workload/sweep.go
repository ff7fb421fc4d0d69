package workload

// SweepKey names the key that a sweep varies.
type SweepKey string

// The sweep keys.
const (
	SweepRate    SweepKey = "rate"
	SweepClients SweepKey = "clients"
	SweepPreload SweepKey = "preload"
	SweepMembers SweepKey = "members"
)

// SweepKeys returns all sweep keys.
func SweepKeys() []SweepKey { return []SweepKey{SweepRate, SweepClients, SweepPreload, SweepMembers} }

// Stepped reports whether the points in a sweep are steps in one load. Other points are separate
// runs, each on a fresh cluster.
func (k SweepKey) Stepped() bool { return k == SweepRate || k == SweepClients }

// Swept is a run's part in a sweep: the whole sweep, or one point.
type Swept struct {
	Key SweepKey `json:"key"`
	// Of is the database tag without the point.
	Of string `json:"of"`
	// Value is the run's point: members, or preloaded bytes or keys. Text is how the file gives it,
	// such as "1GiB"; without a unit, preloaded data are keys. Both are empty if the points are
	// steps.
	Value int64  `json:"value,omitempty"`
	Text  string `json:"text,omitempty"`
}
