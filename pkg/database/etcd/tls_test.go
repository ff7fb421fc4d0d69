package etcd

import (
	"bytes"
	"sync"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// With TLS, members and clients need a certificate from the CA.
func TestTLS(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
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
	byTransport(t, func(t *testing.T, transport database.Transport) {
		if err := dialBy(t, transport, c.Target()).Put(t.Context(), []byte("k"), []byte("v")); err != nil {
			t.Errorf("dial the member: %v", err)
		}
		shareTLS(t, dialBy(t, transport, c.Target()))
		driver := New()
		driver.Transport = transport
		if n, err := driver.CountKeys(t.Context(), c.Target()); err != nil || n != 1+sharers {
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

const sharers = 8

// shareTLS makes callers write and read values in many frames over one connection.
func shareTLS(t *testing.T, conn database.Client) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range sharers {
		wg.Go(func() {
			key, value := []byte{byte(i)}, bytes.Repeat([]byte{byte(i)}, 300_000+i)
			for range 3 {
				if err := conn.Put(t.Context(), key, value); err != nil {
					t.Errorf("put %d: %v", i, err)
					return
				}
				if got, err := conn.Get(t.Context(), key, workload.ReadLinearizable); err != nil || !bytes.Equal(got, value) {
					t.Errorf("get %d: %d bytes, %v", i, len(got), err)
					return
				}
			}
		})
	}
	wg.Wait()
}
