// Package backoff spaces attempts to open a connection.
package backoff

import (
	"math/rand/v2"
	"time"
)

// How a client without a server backs off: it pauses before it tries to open a connection. The
// pauses grow from the first by doubling to the longest, and each is drawn within the jitter around
// that, so that the clients of a lost member do not return all at once.
//
// The first is long compared with a request and short compared with an election, which takes about
// a second. The longest is the pause of ZooKeeper clients between two rounds, and far less than the
// two minutes in gRPC's connection back-off: a benchmark must see a member soon after it returns.
// The jitter is gRPC's.
const (
	First   = 10 * time.Millisecond
	Longest = time.Second
	Jitter  = 0.2
)

// Overtake is the time by which an attempt to open a connection holds up the next one, at another
// member, before both continue. It is the Connection Attempt Delay from RFC 8305: longer than a
// handshake takes in most networks, and short compared with an election.
const Overtake = 250 * time.Millisecond

// Pauses yields the pauses before attempts. Its zero value begins with the first.
type Pauses struct{ failed int }

// Next returns the pause before the next attempt.
func (b *Pauses) Next() time.Duration {
	pause := Longest
	if b.failed < 7 { // 10 ms doubled seven times is over a second
		pause = min(First<<b.failed, Longest)
	}
	b.failed++
	return time.Duration(float64(pause) * (1 + Jitter*(2*rand.Float64()-1)))
}

// Reset restarts with the first pause.
func (b *Pauses) Reset() { b.failed = 0 }
