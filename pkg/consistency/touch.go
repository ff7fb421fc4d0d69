package consistency

// role is the use of one value by a request.
type role uint8

// The requests of a value are looked at in this order.
const (
	wroteIt role = iota
	deletedIt
	readIt
	tookIt
	mayHaveWrittenIt
	failedToWriteIt
)

// touch is a value that a request of the batch wrote or read.
type touch struct {
	number int64
	op     int32
	role   role
}
