package zookeeper

import (
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

// access is who may do what with the znodes that a session creates.
type access []zk.ACL

// accessOf returns the access of what a client with those credentials creates: to
// anyone without any, else to whoever shows the same ones. ZooKeeper knows no
// users: a digest is right where it is that of the one who came first. Its digest
// scheme is used and not the one that stands for all a client has shown, because
// with TLS that is its certificate too.
func accessOf(auth *database.Auth) (access, error) {
	switch {
	case auth == nil:
		return zk.WorldACL(zk.PermAll), nil
	case auth.User == "" || strings.Contains(auth.User, ":"):
		return nil, database.NotApplied(database.ClassDenied, errors.New("zookeeper's digest wants a user, without a colon"))
	case auth.Password == "":
		return nil, database.NotApplied(database.ClassDenied, errors.New("the password is empty"))
	}
	return zk.DigestACL(zk.PermAll, auth.User, auth.Password), nil
}

// size is how many bytes of a create request it takes.
func (a access) size() int {
	size := 4 // their number
	for _, acl := range a {
		size += 4 + 4 + len(acl.Scheme) + 4 + len(acl.ID) // permissions, and a length before each text
	}
	return size
}

// digestScheme is ZooKeeper's name for credentials of a user and a password.
const digestScheme = "digest"

// credentials are what a server is shown.
func credentials(auth *database.Auth) []byte { return []byte(auth.User + ":" + auth.Password) }

// digest shows credentials to a server, as the library does again with every new
// connection of the session.
func digest(auth *database.Auth) func(*zk.Conn) error {
	return func(c *zk.Conn) error { return c.AddAuth(digestScheme, credentials(auth)) }
}
