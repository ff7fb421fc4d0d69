// Package storagetest serves the Google Cloud Storage and S3 protocols to tests.
package storagetest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Emulator is a storage server behind a proxy a test can script. It stops when the test ends.
type Emulator struct {
	Scheme string
	// Bucket is an existing bucket.
	Bucket string
	// Env is the environment that makes package remotestorage use the emulator.
	Env map[string]string
	// before is called before each request; true means that it sent the response.
	before atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

// URL returns the address of a folder in the bucket; "" is the bucket itself.
func (e *Emulator) URL(folder string) string { return e.Scheme + "://" + e.Bucket + "/" + folder }

// Intercept makes f handle the requests for which it returns true.
func (e *Emulator) Intercept(f func(http.ResponseWriter, *http.Request) bool) { e.before.Store(&f) }

// proxy starts a proxy in front of target, on an address used by no other test.
func (e *Emulator) proxy(t testing.TB, target http.Handler) string {
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

// GCS starts a Google Cloud Storage emulator that keeps objects in memory.
func GCS(t testing.TB) *Emulator {
	t.Helper()
	e := &Emulator{Scheme: "gs", Bucket: "results"}
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
	server.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: e.Bucket})
	e.Env = map[string]string{"STORAGE_EMULATOR_HOST": strings.TrimPrefix(at, "http://")}
	return e
}

// S3 starts an S3 emulator that keeps objects in memory.
func S3(t testing.TB) *Emulator {
	t.Helper()
	e := &Emulator{Scheme: "s3", Bucket: "results"}
	memory := s3mem.New()
	if err := memory.CreateBucket(e.Bucket); err != nil {
		t.Fatalf("create a bucket: %v", err)
	}
	at := e.proxy(t, gofakes3.New(memory, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	e.Env = map[string]string{
		"AWS_ENDPOINT_URL": at, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	}
	return e
}

// ContentType returns the media type with which a Google Cloud Storage emulator serves an object.
func (e *Emulator) ContentType(t testing.TB, name string) string {
	t.Helper()
	reply, _ := e.get(t, "/storage/v1/b/"+e.Bucket+"/o/"+url.PathEscape(name)+"?alt=media")
	return reply.Header.Get("Content-Type")
}

// Get sends a request to a Google Cloud Storage emulator and returns the response.
func (e *Emulator) Get(t testing.TB, path string) string {
	t.Helper()
	_, text := e.get(t, path)
	return text
}

func (e *Emulator) get(t testing.TB, path string) (*http.Response, string) {
	t.Helper()
	reply, err := http.Get("http://" + e.Env["STORAGE_EMULATOR_HOST"] + path)
	if err != nil {
		t.Fatalf("ask the emulator: %v", err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatalf("read the reply of the emulator: %v", err)
	}
	return reply, string(text)
}
