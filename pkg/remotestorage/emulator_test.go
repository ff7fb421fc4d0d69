package remotestorage

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/pkg/remotestorage/storagetest"
)

// newGCS starts a Google Cloud Storage emulator for this process.
func newGCS(t *testing.T) *storagetest.Emulator { return forThisProcess(t, storagetest.GCS(t)) }

// newS3 starts an S3 emulator for this process.
func newS3(t *testing.T) *storagetest.Emulator { return forThisProcess(t, storagetest.S3(t)) }

func forThisProcess(t *testing.T, e *storagetest.Emulator) *storagetest.Emulator {
	t.Helper()
	for name, value := range e.Env {
		t.Setenv(name, value)
	}
	return e
}

// newFolder returns a folder in place of an emulator: nothing intercepts its requests.
func newFolder(t *testing.T) *storagetest.Emulator {
	t.Helper()
	return &storagetest.Emulator{Scheme: "file", Bucket: t.TempDir()}
}

// serviceAccount writes a key file whose tokens come from tokenURL.
func serviceAccount(t *testing.T, tokenURL string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatalf("encode the key: %v", err)
	}
	data, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "a@example.com", "private_key_id": "1", "token_uri": tokenURL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	})
	if err != nil {
		t.Fatalf("encode the key file: %v", err)
	}
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatalf("write the key file: %v", err)
	}
	return file
}
