// Package across judges the locks that several parts of a load held, as each recorded them by its
// own clock.
package across

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Most is the number of holdings that all parts together remember.
const Most = 2_000_000

// Holding is the time in which a holder believed that it held a lock.
type Holding struct {
	Name           int64 // the lock number
	Acquired, Sent int64 // when it knew that it held the lock, and when it was about to send the release
	Fence          int64
	// Doubtful means that a stop of its process may have ended its session meanwhile.
	Doubtful bool
}

// chunk is the approximate message size in bytes.
const chunk = 256 << 10

// Encode returns holdings in a compact form, in pieces for messages.
func Encode(list []Holding) (pieces [][]byte) {
	var b []byte
	var last Holding
	for i, h := range list {
		doubtful := int64(0)
		if h.Doubtful {
			doubtful = 1
		}
		for _, n := range [...]int64{h.Name, h.Acquired - last.Acquired, h.Sent - h.Acquired, h.Fence - last.Fence, doubtful} {
			b = binary.AppendVarint(b, n)
		}
		last = h
		if len(b) >= chunk || i == len(list)-1 {
			pieces = append(pieces, b)
			b, last = nil, Holding{}
		}
	}
	return pieces
}

var errPiece = errors.New("holdings of locks end amid a number")

// Decode appends the holdings in a piece to list, which may have at most most of them.
func Decode(list []Holding, piece []byte, most int) ([]Holding, error) {
	var last Holding
	for len(piece) > 0 {
		if len(list) >= most {
			return list, fmt.Errorf("a part must send at most %d holdings of locks", most)
		}
		var n [5]int64
		for i := range n {
			var size int
			if n[i], size = binary.Varint(piece); size <= 0 {
				return list, errPiece
			}
			piece = piece[size:]
		}
		if n[2] < 0 {
			return list, fmt.Errorf("a lock must be held until after it was acquired, got %d ns before", -n[2])
		}
		h := Holding{Name: n[0], Acquired: last.Acquired + n[1], Fence: last.Fence + n[3], Doubtful: n[4] != 0}
		h.Sent = h.Acquired + n[2]
		list, last = append(list, h), h
	}
	return list, nil
}
