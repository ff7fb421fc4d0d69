package zookeeper

import (
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

// access is the ACL for the znodes a session creates.
type access []zk.ACL

// accessOf returns the access to znodes that a client creates under those credentials: for everyone
// without credentials, else for clients with the same ones. ZooKeeper has no user list: the first
// client with a digest defines it. The scheme "auth" is not used, because with TLS it would include
// the certificate.
func accessOf(auth *database.Auth) (access, error) {
	switch {
	case auth == nil:
		return zk.WorldACL(zk.PermAll), nil
	case auth.User == "" || strings.Contains(auth.User, ":"):
		return nil, database.NotApplied(database.ClassDenied, errors.New("zookeeper's digest needs a user name without a colon"))
	case auth.Password == "":
		return nil, database.NotApplied(database.ClassDenied, errors.New("zookeeper's digest needs a password"))
	}
	return zk.DigestACL(zk.PermAll, auth.User, auth.Password), nil
}

// size returns the encoded size in a create request, in bytes.
func (a access) size() int {
	size := 4 // the entry count
	for _, acl := range a {
		size += 4 + 4 + len(acl.Scheme) + 4 + len(acl.ID) // permissions, and a length before each text
	}
	return size
}

// digestScheme is the ZooKeeper scheme for a user and a password.
const digestScheme = "digest"

// credentials returns the authentication data of the digest scheme.
func credentials(auth *database.Auth) []byte { return []byte(auth.User + ":" + auth.Password) }

// digest authenticates a session. The library repeats it on every new connection.
func digest(auth *database.Auth) func(*zk.Conn) error {
	return func(c *zk.Conn) error { return c.AddAuth(digestScheme, credentials(auth)) }
}
