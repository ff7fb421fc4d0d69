package workload

// Outcome is how one operation ended. There are three, because a write whose answer never
// came may or may not have been applied.
type Outcome uint8

// The outcomes.
const (
	// OK was applied and answered.
	OK Outcome = iota
	// Failed was surely not applied.
	Failed
	// Unknown may have been applied: time-out, connection lost after send, cancelled in
	// flight.
	Unknown
)

// Declined is of latencies only: those of the failed requests that the database
// answered as the load makes it answer. A swap that lost its race is one, and so is a
// read of a key that the load deletes. They are among the failed ones too.
const Declined Outcome = Unknown + 1

// Outcomes returns all, in the order of their values. LatencyOutcomes are those by which
// latencies are recorded.
var (
	Outcomes        = [...]Outcome{OK, Failed, Unknown}
	LatencyOutcomes = [...]Outcome{OK, Failed, Unknown, Declined}
)

// String returns the word used in columns and tags.
func (o Outcome) String() string {
	switch o {
	case OK:
		return "ok"
	case Failed:
		return "failed"
	case Declined:
		return "declined"
	default:
		return "unknown"
	}
}

// ClassWrongValue is the class of answers with a value that was never written under the key.
const ClassWrongValue = "wrong value"
