package consistency

// role is the part that a request has in the history of one value.
type role uint8

// A value's requests are looked at in this order.
const (
	wroteIt role = iota
	deletedIt
	readIt
	tookIt
	mayHaveWrittenIt
	failedToWriteIt
)

// touch is a value that a request in the batch wrote or read.
type touch struct {
	number int64
	op     int32
	role   role
}
