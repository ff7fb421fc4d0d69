package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/databasetest"
)

// With TLS, members and clients need a certificate of the CA.
func TestTLS(t *testing.T) {
	files := certificates(t, "127.0.2.8")
	c := databasetest.Start(t, databasetest.Suite{
		Database: Database(), Addrs: []string{"127.0.2.8"}, TLS: files,
	}, 1)
	if err := dial(t, c, c.Target()).Put(t.Context(), []byte("k"), []byte("v")); err != nil {
		t.Error(err)
	}
	if n, err := New().CountKeys(t.Context(), c.Target()); err != nil || n != 1 {
		t.Errorf("%d keys: %v", n, err)
	}
	for name, tls := range map[string]*database.TLS{
		"plaintext":      nil,
		"no certificate": {CA: files.CA},
		"another CA":     certificates(t, "127.0.2.8"),
		"no such file":   {CA: "/no/such/file"},
		"no PEM":         {CA: files.Key},
	} {
		target := c.Target()
		target.TLS = tls
		if conn, err := New().Dial(t.Context(), target); err == nil {
			_ = conn.Close()
			t.Errorf("%s: is let in", name)
		}
	}
}

// certificates writes a CA and one certificate of it that serves and dials.
func certificates(t *testing.T, ip string) *database.TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "member"}, IPAddresses: []net.IP{net.ParseIP(ip)},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	caFile := write("ca.pem", "CERTIFICATE", caDER, err)
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), key)
	return &database.TLS{CA: caFile, Cert: write("cert.pem", "CERTIFICATE", leafDER, err), Key: write("key.pem", "PRIVATE KEY", der, nil)}
}
