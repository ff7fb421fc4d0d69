package load

import (
	"sync/atomic"

	"github.com/coreos/dbtester/pkg/workload"
)

// flight is a client's request in flight, packed into one word so that a flush
// and the deadline watcher can read it while the client works: 0 when idle, else
// the time it was sent above nine bits of flags.
type flight struct {
	word atomic.Int64
	// waiting is since when its client has waited for a server, 0 if it does not; of
	// the shard's lock.
	waiting int64
	_       [48]byte // its own cache line: neighbours belong to other clients
}

const (
	flightExpired = 1 << iota
	flightLate
	flightQueued
	flightPhase // two bits
	_
	flightOp // three bits
	_
	_
	flightCounted // as sent, by a flush
	flightShift   = iota
	maxOps        = workload.MaxMix
)

func packFlight(sent int64, phase, op int, flags int64) int64 {
	return (sent+1)<<flightShift | int64(op)*flightOp | int64(phase)*flightPhase | flags
}

// sentAt is when a flight's request was sent.
func sentAt(word int64) int64 { return word>>flightShift - 1 }

func phaseOf(word int64) int { return int(word/flightPhase) & 3 }

func opOf(word int64) int { return int(word/flightOp) & (maxOps - 1) }
