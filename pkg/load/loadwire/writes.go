package loadwire

import (
	"encoding/binary"
	"errors"
	"fmt"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
)

// writesAtOnce is the number of writes in one message: at most half a megabyte.
const writesAtOnce = 8192

// Writes encodes writes. The zero value is empty.
type Writes struct {
	data         []byte
	n            int
	number, sent int64 // for the last write
}

// Add adds those fields of a write that are needed to watch writes: number, key, change, times,
// operation and outcome. It reports whether a message is full.
func (w *Writes) Add(e *load.Ended) (full bool) {
	w.data = append(w.data, e.Op, byte(e.Outcome))
	for _, n := range []int64{e.Number - w.number, e.Key, e.Change, e.Sent - w.sent, e.Sent - e.Due, e.End - e.Sent} {
		w.data = binary.AppendVarint(w.data, n)
	}
	w.number, w.sent = e.Number, e.Sent
	w.n++
	return w.n >= writesAtOnce
}

// Take returns a message with the writes since the last call.
func (w *Writes) Take(before int64) *pb.LoadWrites {
	m := &pb.LoadWrites{Writes: w.data, BeforeUnixNs: before}
	*w = Writes{}
	return m
}

// WritesOf appends the writes in a message to a list. Their operations must be below operations.
func WritesOf(list []load.Ended, m *pb.LoadWrites, operations int) ([]load.Ended, error) {
	data, number, sent := m.GetWrites(), int64(0), int64(0)
	for n := 0; len(data) > 0; n++ {
		if n == writesAtOnce || len(data) < 2 {
			return list, fmt.Errorf("a message must have at most %d whole writes, got %d and %d bytes", writesAtOnce, n, len(data))
		}
		e := load.Ended{Op: data[0], Outcome: workload.Outcome(data[1]), Expected: -1, Version: -1}
		if int(e.Op) >= operations || e.Outcome != workload.OK && e.Outcome != workload.Unknown {
			return list, fmt.Errorf("a write must have one of %d operations and be ok or unknown, got operation %d and outcome %d", operations, e.Op, e.Outcome)
		}
		data = data[2:]
		var fields [6]int64
		for i := range fields {
			size := 0
			if fields[i], size = binary.Varint(data); size <= 0 {
				return list, errors.New("a message ends within a write")
			}
			data = data[size:]
		}
		number, sent = number+fields[0], sent+fields[3]
		e.Number, e.Key, e.Change, e.Sent, e.Due, e.End = number, fields[1], fields[2], sent, sent-fields[4], sent+fields[5]
		if e.Key < 0 {
			return list, fmt.Errorf("the number of a key must be at least 0, got %d", e.Key)
		}
		list = append(list, e)
	}
	return list, nil
}
