package remotestorage

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// emulator is a server of a store's protocol behind a proxy that a test scripts.
type emulator struct {
	scheme string
	// bucket exists. The test's environment makes Open find the emulator.
	bucket string
	// before is asked before each request; true means that it replied.
	before atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

func (e *emulator) url(folder string) string { return e.scheme + "://" + e.bucket + "/" + folder }

// intercept has f reply to requests for which it returns true.
func (e *emulator) intercept(f func(http.ResponseWriter, *http.Request) bool) { e.before.Store(&f) }

// proxy starts the proxy before target, on an address of this package's own.
func (e *emulator) proxy(t *testing.T, target http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.29.0.1:0")
	if err != nil {
		t.Fatalf("listen for the proxy: %v", err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := e.before.Load(); f != nil && (*f)(w, r) {
			return
		}
		target.ServeHTTP(w, r)
	})}}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// newGCS starts an emulator of Google Cloud Storage.
func newGCS(t *testing.T) *emulator {
	t.Helper()
	e := &emulator{scheme: "gs", bucket: "results"}
	var handler http.Handler
	at := e.proxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	server, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, ExternalURL: at, StorageRoot: t.TempDir(), Writer: io.Discard,
	})
	if err != nil {
		t.Fatalf("start the emulator of Google Cloud Storage: %v", err)
	}
	handler = server.HTTPHandler()
	t.Cleanup(server.Stop)
	server.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: e.bucket})
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(at, "http://"))
	return e
}

// newS3 starts an emulator of S3.
func newS3(t *testing.T) *emulator {
	t.Helper()
	e := &emulator{scheme: "s3", bucket: "results"}
	memory := s3mem.New()
	if err := memory.CreateBucket(e.bucket); err != nil {
		t.Fatalf("create a bucket: %v", err)
	}
	at := e.proxy(t, gofakes3.New(memory, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": at, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	return e
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
