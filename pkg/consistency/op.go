package consistency

import "math"

// Kind classifies a request by its effect on its key.
type Kind uint8

// The request kinds.
const (
	// Other requests are counted and not judged.
	Other Kind = iota
	Read
	Write
	// Swap reads a value and replaces it, or fails if another request replaced it first.
	Swap
	// Guarded writes if the key has the version in Read, which counts if Known. Every version
	// is replaced once.
	Guarded
	// Delete removes the key, which may be missing.
	Delete
)

// Outcome is the result of a request.
type Outcome uint8

// The request outcomes.
const (
	OK Outcome = iota
	// Failed requests surely changed nothing. If one read a value before it failed, that read
	// counts.
	Failed
	// Unknown requests may have changed the key, or may still do so at any time.
	Unknown
	// NotFound requests changed nothing, and the key was not there.
	NotFound
)

// Op is one request that ended, on one key.
type Op struct {
	Key int64
	// Request is the request number. It names the value that the request writes, and is greater
	// than NoRequest.
	Request int64
	// Read is the number of the request that wrote the read value. It counts only if Known.
	Read int64
	// Sent and End are nanoseconds on one clock.
	Sent, End int64
	// Client is the client or the connection, on which steps back are counted.
	Client  int32
	Kind    Kind
	Outcome Outcome
	Known   bool
}

// A key has one of these instead of a value number.
const (
	// Absent keys do not exist before the first request.
	Absent = math.MinInt64
	// Unstated first values may be anything: the first value that is read without a known write
	// counts as the first value.
	Unstated = math.MinInt64 + 1
	// NoRequest, in [Op.Read], stands for a value that no request wrote to the key.
	NoRequest = math.MinInt64 + 2
)

const (
	earliest = math.MinInt64
	never    = math.MaxInt64
)
