package load

import (
	"sync/atomic"

	"github.com/coreos/dbtester/pkg/workload"
)

// flight describes a client's request in flight, packed into one word so that a flush and the
// deadline watcher can read it while the client works: 0 when idle, else the time it was sent above
// nine bits of flags.
type flight struct {
	word atomic.Int64
	// waiting is when its client began to wait for a server, 0 if it does not wait; the shard lock
	// guards it.
	waiting int64
	// idle is when its client last had no request in flight, as far as the observer knows; the
	// shard lock guards it.
	idle int64
	_    [40]byte // its own cache line: neighbours belong to other clients
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

// flightSending is the word of a client with an observer between two requests: it reads, or has
// read, the clock for the next. It stands for no request: neither a flush nor the deadline
// watcher has anything to mark in it.
const flightSending = flightCounted | flightExpired

func packFlight(sent int64, phase, op int, flags int64) int64 {
	return (sent+1)<<flightShift | int64(op)*flightOp | int64(phase)*flightPhase | flags
}

// sentAt returns when the request in flight was sent.
func sentAt(word int64) int64 { return word>>flightShift - 1 }

func phaseOf(word int64) int { return int(word/flightPhase) & 3 }

func opOf(word int64) int { return int(word/flightOp) & (maxOps - 1) }

// earliest returns a moment: every request that the client sent, or will send, before it has
// ended. The shard is locked, so no request ends meanwhile, and now is an earlier clock reading.
//
// An idle client reads the clock after it has set flightSending, so not before now. A client
// that has set flightSending may have read the clock already, and be descheduled since, but not
// before it was last seen idle and not before its last request ended.
func (f *flight) earliest(now int64) int64 {
	switch word := f.word.Load(); word {
	case 0:
		f.idle = now
	case flightSending:
	default:
		return sentAt(word)
	}
	return f.idle
}
