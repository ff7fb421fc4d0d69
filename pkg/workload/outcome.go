package workload

// Outcome is the result of one operation. There are three outcomes, because a write without an
// answer may or may not have been applied.
type Outcome uint8

// The outcomes.
const (
	// OK: the operation was applied and answered.
	OK Outcome = iota
	// Failed: it was surely not applied.
	Failed
	// Unknown: it may have been applied after a timeout, a connection lost after send, or a
	// cancellation in flight.
	Unknown
)

// Declined is only for latencies. It marks failed requests that the database answered as the load
// makes it answer, such as a swap that lost its race or a read on a key that the load deletes.
// These requests are also among the failed ones.
const Declined Outcome = Unknown + 1

// Outcomes lists all outcomes by value. LatencyOutcomes are the outcomes by which latencies are
// recorded.
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

// ClassWrongValue is the class for answers with a value that was never written under the key.
const ClassWrongValue = "wrong value"
