package etcd

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/databasetest"
)

// With TLS, members and clients need a certificate of the CA.
func TestTLS(t *testing.T) {
	files := databasetest.Certificates(t, "127.0.2.8")
	c := databasetest.Start(t, databasetest.Suite{
		Database: Database(), Addrs: []string{"127.0.2.8"}, TLS: files,
	}, 1)
	secrets := map[string]*database.TLS{
		"plaintext":      nil,
		"no certificate": {CA: files.CA},
		"another CA":     databasetest.Certificates(t, "127.0.2.8"),
		"no such file":   {CA: "/no/such/file"},
		"no PEM":         {CA: files.Key},
	}
	byTransport(t, func(t *testing.T, transport Transport) {
		if err := dialBy(t, transport, c.Target()).Put(t.Context(), []byte("k"), []byte("v")); err != nil {
			t.Error(err)
		}
		driver := NewDriver()
		driver.Transport = transport
		if n, err := driver.CountKeys(t.Context(), c.Target()); err != nil || n != 1 {
			t.Errorf("%d keys: %v", n, err)
		}
		for name, tls := range secrets {
			target := c.Target()
			target.TLS = tls
			conn, err := driver.Dial(t.Context(), target)
			t.Logf("%s: %v", name, err)
			if err == nil {
				_ = conn.Close()
				t.Errorf("%s: is let in", name)
			}
		}
	})
}
