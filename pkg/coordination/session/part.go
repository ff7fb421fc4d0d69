package session

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Part is one machine's record about the sessions that it held. It has judged them with its own
// clock and its own watch, so that no other clock affects the times by which they were late.
type Part struct {
	deaths.Tally
	// Took is the time in which the sessions were granted.
	Took time.Duration `json:"took_ns"`
	// Keeps are the times of answered renewals, Longest the longest one.
	Keeps   histogram.Buckets `json:"keeps,omitempty"`
	Longest time.Duration     `json:"longest_ns,omitempty"`
	// FirstSent and LastSent bound when sessions that ended were last renewed.
	FirstSent time.Time `json:"first_sent,omitzero"`
	LastSent  time.Time `json:"last_sent,omitzero"`
	Ends      Ends      `json:"ends,omitempty"`
}

// End is when an abandoned session ended, in nanoseconds: the time after its TTL, at most and at
// least, and the unix time.
type End struct{ Late, Least, At int64 }

// Ends are in order of time.
type Ends []End

// MarshalJSON encodes the ends in a dozen bytes each.
func (e Ends) MarshalJSON() ([]byte, error) {
	b := binary.AppendUvarint(nil, uint64(len(e)))
	last := int64(0)
	for _, one := range e {
		b = binary.AppendVarint(b, one.At-last)
		b = binary.AppendVarint(b, one.Late)
		b = binary.AppendVarint(b, one.Late-one.Least)
		last = one.At
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(b))
}

// errEnds is the error for ends that another program has encoded.
var errEnds = errors.New("the ends of sessions are not encoded as they should be")

// UnmarshalJSON decodes them.
func (e *Ends) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%w: %w", errEnds, err)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("%w: %w", errEnds, err)
	}
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)) { // each has three bytes at least
		return errEnds
	}
	b = b[size:]
	list, last := make(Ends, 0, n), int64(0)
	for range n {
		var numbers [3]int64
		for i := range numbers {
			number, size := binary.Varint(b)
			if size <= 0 {
				return errEnds
			}
			numbers[i], b = number, b[size:]
		}
		last += numbers[0]
		list = append(list, End{Late: numbers[1], Least: numbers[1] - numbers[2], At: last})
	}
	if len(b) > 0 {
		return errEnds
	}
	*e = list
	return nil
}
