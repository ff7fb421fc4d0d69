package database

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// Auth holds a client's credentials. Each database interprets them in its own way:
//
//	etcd       user and password; the client requests a token with them
//	Consul     the password is the ACL token, there is no user
//	ZooKeeper  a digest of user:password, which owns every znode the client
//	           creates
//
// A password leaves this struct only through its field. Printed, logged or encoded, an
// Auth shows only its user.
type Auth struct {
	User     string
	Password string
}

var (
	_ fmt.Formatter  = Auth{}
	_ fmt.Stringer   = Auth{}
	_ json.Marshaler = Auth{}
	_ slog.LogValuer = Auth{}
)

// String names the user.
func (a Auth) String() string { return fmt.Sprintf("user %q", a.User) }

// Format writes the same as String, whatever the verb.
func (a Auth) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, a.String()) }

// MarshalJSON encodes the user.
func (a Auth) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		User string `json:"user,omitempty"`
	}{a.User})
}

// MarshalYAML encodes the user.
func (a Auth) MarshalYAML() (any, error) {
	return struct {
		User string `yaml:"user,omitempty"`
	}{a.User}, nil
}

// LogValue logs the user.
func (a Auth) LogValue() slog.Value { return slog.StringValue(a.String()) }
