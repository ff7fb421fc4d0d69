package zookeeper

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// oneFile puts certificate and key into one file, as ZooKeeper needs them.
func oneFile(t *testing.T, files *database.TLS) *database.TLS {
	t.Helper()
	both := filepath.Join(t.TempDir(), "both.pem")
	var content []byte
	for _, path := range []string{files.Key, files.Cert} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("read file: %v", err)
		}
		content = append(content, data...)
	}
	if err := os.WriteFile(both, content, 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
	return &database.TLS{CA: files.CA, Cert: both, Key: both}
}

// With TLS and a digest.
func TestSecure(t *testing.T) {
	s := suite(t, newest)
	s.Addrs = []string{"127.0.7.21", "127.0.7.22", "127.0.7.23"}
	// Members see each other connect from 127.0.0.1, and check whether the certificate
	// contains that address.
	s.TLS = oneFile(t, databasetest.Certificates(t, append(s.Addrs, "127.0.0.1")...))
	s.Auth = &database.Auth{User: "bench", Password: "hunter2"}
	s.ExactLimit = func(t testing.TB, c *databasetest.Cluster, keySize int) int {
		conn := dial(t, c.Driver(), c.To(0))
		return conn.limit - putSize(conn.access, conn.keys.pathSize(keySize), 0)
	}
	s.Part = databasetest.Clients
	databasetest.Run(t, s)
}

func TestAccess(t *testing.T) {
	open, err := accessOf(nil)
	if err != nil || open.size() != openToAll {
		t.Errorf("open to all: %v, %d bytes, %v", open, open.size(), err)
	}
	got, err := accessOf(&database.Auth{User: "super", Password: "test"})
	// The digest is the one that DigestAuthenticationProvider in ZooKeeper prints.
	want := access{{Perms: zk.PermAll, Scheme: "digest", ID: "super:D/InIHSb7yEEbrWz8b9l71RjZJU="}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("digest: %v %s", err, diff)
	}
	for _, auth := range []database.Auth{{}, {User: "a"}, {Password: "b"}, {User: "a:b", Password: "c"}} {
		if _, err := accessOf(&auth); err == nil {
			t.Errorf("%v is taken", auth)
		} else if _, class := database.Classify(err); class != database.ClassDenied {
			t.Errorf("%v: %v", auth, err)
		}
	}
}
