package database

import (
	"errors"
	"fmt"
)

// Target is a running cluster as a client dials it.
type Target struct {
	// Endpoints are host:port addresses of the members' client ports, one per
	// member and in the members' order.
	Endpoints []string
	// Prefer is the index in Endpoints of the only member that the connection may
	// use; -1 lets it use all of them.
	Prefer int
	// Prefix is the name below which all keys of the clients lie; no operation, count or
	// search touches other keys. It has one or more elements of letters, digits and "._-",
	// neither "." nor "..", separated by "/". Empty means that the clients have the cluster
	// to themselves.
	Prefix string
	// TLS is nil for plaintext, Auth for a client without credentials.
	TLS  *TLS
	Auth *Auth
	// MaxBytes bounds the sum of key and value, in bytes, of every request and answer
	// of the load, so that a client can size its buffers; 0 means unknown.
	MaxBytes int
}

// Preferred returns the endpoints that a connection may use, at least one.
func (t Target) Preferred() ([]string, error) {
	switch {
	case len(t.Endpoints) == 0:
		return nil, errors.New("the target has no endpoints")
	case t.Prefer >= len(t.Endpoints):
		return nil, fmt.Errorf("the preferred endpoint must be below %d, got %d", len(t.Endpoints), t.Prefer)
	case t.Prefer >= 0:
		return t.Endpoints[t.Prefer : t.Prefer+1], nil
	}
	return t.Endpoints, nil
}
