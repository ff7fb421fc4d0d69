package database

import "fmt"

// Transport names the client implementation that sends requests. All implementations send
// the same requests and pass the same conformance suite. A driver may have more than these
// two.
type Transport string

const (
	// Lean is the client in this module for the protocol. It uses less CPU and memory, which leaves
	// more for the servers on a shared machine. It is the default.
	Lean Transport = "lean"
	// Standard is the client library that applications use.
	Standard Transport = "standard"
)

// Validate refuses names other than [Lean] and [Standard].
func (t Transport) Validate() error {
	if t != Lean && t != Standard {
		return fmt.Errorf("transport must be %s or %s, got %q", Lean, Standard, string(t))
	}
	return nil
}

// Resender is optional on a [Client] whose library resends requests by itself. The load
// counts such a request as one call, which lasts from its first attempt to the answer to
// its last.
type Resender interface {
	// Resent returns the number of times the client has resent requests so far: a request that was
	// sent three times counts twice. It is safe for concurrent use.
	Resent() int64
}

// Resent returns the number of times a client has resent requests, 0 if it is not a [Resender].
func Resent(c Client) int64 {
	if r, ok := c.(Resender); ok {
		return r.Resent()
	}
	return 0
}

// Continuer is optional on a [Client] whose calls wait as fibers, if their context is a
// [github.com/coreos/dbtester/pkg/wire/fiber.Context]. Such a call no longer needs key and
// value once it waits, if together they have at most
// [github.com/coreos/dbtester/pkg/wire/fiber.MostBorrowed] bytes.
type Continuer interface {
	// Continues reports whether the calls wait as fibers.
	Continues() bool
}

// Continues reports whether a client is a [Continuer] whose calls wait as fibers.
func Continues(c Client) bool {
	f, ok := c.(Continuer)
	return ok && f.Continues()
}
