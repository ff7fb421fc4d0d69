package database

import (
	"errors"
	"fmt"
)

// Target is a running cluster as a client dials it.
type Target struct {
	// Endpoints are the members' client addresses, each host:port, in order.
	Endpoints []string
	// Prefer is the index in Endpoints of the only member the connection may use; -1 allows all.
	Prefer int
	// Prefix is the name below which all client keys lie; no operation, count or search touches
	// other keys. Its elements, separated by "/", consist of letters, digits and "._-", and are
	// neither "." nor "..". Empty means that the clients have the cluster to themselves.
	Prefix string
	// TLS is nil for plaintext, Auth for a client without credentials.
	TLS  *TLS
	Auth *Auth
	// MaxBytes bounds the sum of key and value, in bytes, in every request and answer of the load,
	// so that a client can size its buffers; 0 means unknown.
	MaxBytes int
}

// Preferred returns the endpoints a connection may use, at least one.
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
