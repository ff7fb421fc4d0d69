package database

import "fmt"

// Transport names the implementation that carries a client's requests. Both send
// the same requests, and pass the same conformance suite.
type Transport string

const (
	// Lean is this module's own client for the one protocol. It uses less CPU and
	// memory, which on a shared machine leaves more to the servers. It is the default.
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
