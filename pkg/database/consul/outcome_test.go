package consul

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/wire/fiber/fibertest"
	"github.com/coreos/dbtester/pkg/workload"
)

// The answer decides the outcome, over either transport.
func TestOutcomes(t *testing.T) {
	tests := []struct {
		name    string
		status  int
		body    string
		outcome workload.Outcome
		class   database.Class
	}{
		{"ok", 200, "true", workload.OK, ""},
		{"no leader", 500, "No cluster leader", workload.Failed, database.ClassUnavailable},
		{"no leader beyond", 500, "rpc error making call: No cluster leader", workload.Failed, database.ClassUnavailable},
		{"no connection to the leader", 500, "rpc error getting client: failed to get conn: dial tcp 10.0.0.1:8300: i/o timeout", workload.Failed, database.ClassUnavailable},
		{"leader not tracked", 500, "Raft leader not found in server lookup mapping", workload.Failed, database.ClassUnavailable},
		{"not leader", 500, "rpc error making call: raft apply failed: node is not the leader", workload.Failed, database.ClassLeaderChange},
		{"transfer", 500, "raft apply failed: leadership transfer in progress", workload.Failed, database.ClassLeaderChange},
		{"queue full", 500, "raft apply failed: timed out enqueuing operation", workload.Failed, database.ClassThrottled},
		{"leader lost", 500, "raft apply failed: leadership lost while committing log", workload.Unknown, database.ClassLeaderChange},
		{"stopping", 500, "raft apply failed: raft is already shutdown", workload.Unknown, database.ClassUnavailable},
		{"leader died", 500, "rpc error making call: EOF", workload.Unknown, database.ClassConnection},
		{"leader slow", 500, "rpc error making call: i/o deadline reached", workload.Unknown, database.ClassTimeout},
		{"something new", 500, "boom", workload.Unknown, database.ClassOther},
		{"limit", 429, "Your IP is issuing too many concurrent connections", workload.Failed, database.ClassThrottled},
		{"rate", 503, "rate limit exceeded, try again later or against a different server", workload.Failed, database.ClassThrottled},
		{"rate of the leader", 500, "rpc error making call: rate limit exceeded, try again later or against a different server", workload.Failed, database.ClassThrottled},
		{"rate of RPC", 500, "rpc error making call: RPC rate limit exceeded", workload.Failed, database.ClassThrottled},
		{"no servers", 500, "No known Consul servers", workload.Failed, database.ClassUnavailable},
		{"denied by the leader", 500, "rpc error making call: Permission denied: token with AccessorID lacks permission", workload.Failed, database.ClassDenied},
		{"restored", 500, "raft apply failed: snapshot restored while committing log", workload.Unknown, database.ClassOther},
		{"rpc error", 500, "rpc error making call: rpc error: something", workload.Unknown, database.ClassOther},
		{"a balancer without servers", 503, "Service Unavailable", workload.Unknown, database.ClassUnavailable},
		{"no leader as 503", 503, "No cluster leader", workload.Failed, database.ClassUnavailable},
		{"a balancer's patience", 504, "upstream request timeout", workload.Unknown, database.ClassTimeout},
		{"no space in etcd", 500, "database space exceeded (etcd: etcdserver: mvcc: database space exceeded)", workload.Unknown, database.ClassSpaceExceeded},
		{"denied", 403, "Permission denied", workload.Failed, database.ClassDenied},
		{"bad request", 400, "Missing key name", workload.Failed, database.ClassOther},
		{"too large", 413, "Request body(524289 bytes) too large", workload.Failed, database.ClassTooLarge},
		{"moved", 301, "", workload.Failed, database.ClassOther},
		{"answered false", 200, "false\n", workload.Failed, database.ClassConflict},
		{"answered with neither true nor false", 200, "null", workload.Unknown, database.ClassConnection},
		{"answered with nothing", 200, "", workload.Unknown, database.ClassConnection},
		{"no content", 204, "", workload.Unknown, database.ClassOther},
		{"another success", 220, "true", workload.Unknown, database.ClassOther},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, o way) {
				c := openTo(t, o, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Location", "/elsewhere")
					w.WriteHeader(tt.status)
					_, _ = io.WriteString(w, tt.body)
				})
				for range 2 { // the second time on the same connection
					err := c.Put(t.Context(), []byte("secret"), []byte("value"))
					mustClass(t, err, tt.class, tt.outcome)
					mustClass(t, c.Delete(t.Context(), []byte("secret")), tt.class, tt.outcome)
				}
			})
		})
	}
}

// A swap whose read failed was surely not applied.
func TestSwapOutcomes(t *testing.T) {
	overBoth(t, func(t *testing.T, o way) {
		c := openTo(t, o, func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "leadership lost while committing log", http.StatusInternalServerError)
		})
		mustClass(t, c.Swap(t.Context(), []byte("secret"), nil, nil), database.ClassLeaderChange, workload.Failed)

		var answers atomic.Int64
		c = openTo(t, o, func(w http.ResponseWriter, r *http.Request) {
			if answers.Add(1); r.Method == http.MethodGet {
				_, _ = io.WriteString(w, `[{"Key":"secret","Value":"b2xk","Flags":7,"ModifyIndex":11}]`)
				return
			}
			if got := r.URL.RawQuery; got != "cas=11&flags=7" {
				t.Errorf("the swap asks for %q", got)
			}
			_, _ = io.WriteString(w, "false")
		})
		mustClass(t, c.Swap(t.Context(), []byte("secret"), []byte("old"), nil), database.ClassConflict, workload.Failed)
		if n := answers.Load(); n != 2 {
			t.Errorf("a swap makes %d requests, want 2: a read and a write", n)
		}
		mustClass(t, c.Swap(t.Context(), []byte("secret"), []byte("older"), nil), database.ClassConflict, workload.Failed)
		if n := answers.Load(); n != 3 {
			t.Errorf("a swap of another value makes %d requests, want 1: the read", n-2)
		}
	})
}

// It is understood that a large value was refused even if the server does not read the value.
func TestTooLarge(t *testing.T) {
	overBoth(t, func(t *testing.T, o way) {
		c := openTo(t, o, func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength > maxValue {
				http.Error(w, "too large", http.StatusRequestEntityTooLarge)
				return
			}
			_, _ = io.WriteString(w, "true")
		})
		for range 5 {
			err := c.Put(t.Context(), []byte("k"), make([]byte, 4*maxValue))
			mustClass(t, err, database.ClassTooLarge, workload.Failed)
			mustClass(t, c.Put(t.Context(), []byte("k"), make([]byte, maxValue)), "", workload.OK)
		}
		// An accepted value arrives completely.
		var arrived atomic.Int64
		c = openTo(t, o, func(w http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			arrived.Store(n)
			_, _ = io.WriteString(w, "true")
		})
		mustClass(t, c.Put(t.Context(), []byte("k"), make([]byte, 4*maxValue)), "", workload.OK)
		if n := arrived.Load(); n != 4*maxValue {
			t.Errorf("%d bytes of the value arrived, want %d", n, 4*maxValue)
		}
	})
}

// A write whose connection ends without an answer is unknown. A write without a
// server to connect to has failed. No write is sent twice.
func TestLostConnection(t *testing.T) {
	overBoth(t, func(t *testing.T, o way) {
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) > 1 {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, "true")
		}))
		defer server.Close()
		c := open(t, o, server.Listener.Addr().String())
		mustClass(t, c.Put(t.Context(), []byte("secret"), nil), "", workload.OK)
		mustClass(t, c.Put(t.Context(), []byte("secret"), nil), database.ClassConnection, workload.Unknown)
		if n := requests.Load(); n != 2 {
			t.Errorf("2 writes became %d requests", n)
		}
		server.Close()
		mustClass(t, c.Put(t.Context(), []byte("secret"), nil), database.ClassUnavailable, workload.Failed)
	})
}

// A truncated answer is a lost connection.
func TestHalfAnswer(t *testing.T) {
	overBoth(t, func(t *testing.T, o way) {
		c := openTo(t, o, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `[{"Key":"secret"`)
		})
		_, err := c.Get(t.Context(), []byte("secret"), workload.ReadLeader)
		mustClass(t, err, database.ClassConnection, workload.Unknown)
	})
}

// A request to a server that sends nothing, or stops within an answer, ends with its
// context.
func TestSilence(t *testing.T) {
	overBoth(t, func(t *testing.T, o way) {
		for _, body := range []string{"", `[{"Key":`} {
			c := openTo(t, o, func(w http.ResponseWriter, r *http.Request) {
				if body != "" {
					_, _ = io.WriteString(w, body)
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			})
			err := databasetest.Sent(func(times time.Duration) error {
				ctx, cancel := context.WithTimeout(t.Context(), times*30*time.Millisecond)
				defer cancel()
				_, err := c.Get(ctx, []byte("secret"), workload.ReadLeader)
				return err
			})
			mustClass(t, err, database.ClassTimeout, workload.Unknown)
			err = databasetest.Sent(func(times time.Duration) error {
				ctx, cancel := context.WithCancel(t.Context())
				defer time.AfterFunc(times*30*time.Millisecond, cancel).Stop()
				_, err := c.Get(ctx, []byte("secret"), workload.ReadLeader)
				return err
			})
			mustClass(t, err, database.ClassCancelled, workload.Unknown)
		}
	})
}

// The client reconnects to a server that closes the connection after each answer.
func TestServerCloses(t *testing.T) {
	overBoth(t, func(t *testing.T, o way) {
		c := openTo(t, o, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, "true")
		})
		for range 3 {
			mustClass(t, c.Put(t.Context(), []byte("k"), nil), "", workload.OK)
		}
	})
}

// Read modes are sent as Consul parameters, without a request for compression.
func TestReadModes(t *testing.T) {
	overBoth(t, func(t *testing.T, o way) {
		requests := make(chan *http.Request, 1)
		c := openTo(t, o, func(w http.ResponseWriter, r *http.Request) {
			requests <- r
			if r.URL.Query().Has("raw") {
				_, _ = io.WriteString(w, "v")
			} else {
				_, _ = io.WriteString(w, `[{"Key":"k","Value":"dg=="}]`)
			}
		})
		for mode, want := range map[workload.ReadMode]string{
			workload.ReadLeader: "", workload.ReadStale: "stale", workload.ReadLinearizable: "consistent",
		} {
			value, err := c.Get(t.Context(), []byte("a b/c"), mode)
			if err != nil || string(value) != "v" {
				t.Errorf("%s: %q, %v", mode, value, err)
			}
			got := <-requests
			query := strings.Trim(strings.TrimPrefix(got.URL.RawQuery, "raw"), "&=")
			if got.URL.Path != "/v1/kv/a b/c" || query != want || got.Header.Get("Accept-Encoding") != "" {
				t.Errorf("%s asks for %q, encoding %q", mode, got.URL, got.Header.Get("Accept-Encoding"))
			}
		}
	})
}

// way is a transport, and whether fibers send the requests.
type way struct {
	*Options
	fibers bool
}

// overBoth runs a test over each transport, and over the lean one as goroutines and as fibers.
func overBoth(t *testing.T, run func(*testing.T, way)) {
	t.Run(string(database.Standard), func(t *testing.T) {
		o := New()
		o.Transport = database.Standard
		run(t, way{o, false})
	})
	overLean(t, run)
}

// overLean runs a test over the lean transport.
func overLean(t *testing.T, run func(*testing.T, way)) {
	for name, fibers := range map[string]bool{"lean": false, "lean in fibers": true} {
		t.Run(name, func(t *testing.T) {
			o := New()
			o.Transport = database.Lean
			run(t, way{o, fibers})
		})
	}
}

// inFibers sends each request as a fiber.
type inFibers struct{ *lean }

// newInFibers connects the client, because a fiber waits as one from the second exchange on a
// connection.
func newInFibers(t *testing.T, c *lean) *inFibers {
	t.Helper()
	if _, err := c.conn.Begin(t.Context()); err != nil {
		t.Fatalf("begin to connect: %v", err)
	}
	err := c.conn.Connect(t.Context(), c.conn.addr, c.conn.tls)
	if c.conn.End(err == nil); err != nil {
		t.Fatalf("connect: %v", err)
	}
	return &inFibers{c}
}

func (f *inFibers) Put(ctx context.Context, key, value []byte) (err error) {
	fibertest.Do(ctx, func(ctx context.Context) { err = f.lean.Put(ctx, key, value) })
	return err
}

func (f *inFibers) Get(ctx context.Context, key []byte, mode workload.ReadMode) (value []byte, err error) {
	fibertest.Do(ctx, func(ctx context.Context) { value, err = f.lean.Get(ctx, key, mode) })
	return value, err
}

func (f *inFibers) Delete(ctx context.Context, key []byte) (err error) {
	fibertest.Do(ctx, func(ctx context.Context) { err = f.lean.Delete(ctx, key) })
	return err
}

func (f *inFibers) Swap(ctx context.Context, key, old, value []byte) (err error) {
	fibertest.Do(ctx, func(ctx context.Context) { err = f.lean.Swap(ctx, key, old, value) })
	return err
}

// openTo returns a client for a server the test plays.
func openTo(t *testing.T, o way, handler http.HandlerFunc) allOps {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return open(t, o, server.Listener.Addr().String())
}

func open(t *testing.T, o way, addr string) allOps {
	t.Helper()
	c, err := o.members(database.Target{Endpoints: []string{addr}}).client(0)
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if o.fibers {
		return newInFibers(t, c.(*lean))
	}
	return c.(allOps)
}

// allOps are the operations that clients of both transports have.
type allOps interface {
	database.Client
	database.Deleter
	database.Swapper
}

func mustClass(t *testing.T, err error, class database.Class, outcome workload.Outcome) {
	t.Helper()
	if o, c := database.Classify(err); o != outcome || c != class {
		t.Errorf("got %v, %q, want %v, %q: %v", o, c, outcome, class, err)
	}
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("an error must not hold the key: %v", err)
	}
}

// Errors that are hard to provoke in a server.
func TestClassify(t *testing.T) {
	over, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	dial := &net.OpError{Op: "dial", Err: errors.New("i/o timeout")}
	mustClass(t, classify(over, dial), database.ClassTimeout, workload.Failed)
	mustClass(t, classify(context.Background(), dial), database.ClassUnavailable, workload.Failed)
	mustClass(t, classify(over, errors.New("read: i/o timeout")), database.ClassTimeout, workload.Unknown)
	mustClass(t, classify(context.Background(), errors.New("no JSON")), database.ClassOther, workload.Unknown)
	mustClass(t, classify(context.Background(), api.StatusError{Code: 502}), database.ClassOther, workload.Unknown)

	// The answer from a proxy may arrive before the request that caused it has ended.
	left, leave := context.WithCancel(context.Background())
	canceled := api.StatusError{Code: 500, Body: "etcd: rpc error: code = Canceled desc = context canceled"}
	mustClass(t, classify(left, canceled), database.ClassOther, workload.Unknown)
	leave()
	mustClass(t, classify(left, canceled), database.ClassCancelled, workload.Unknown)
	mustClass(t, classify(left, api.StatusError{Code: 500, Body: "disk full"}), database.ClassOther, workload.Unknown)
	mustClass(t, classify(over, api.StatusError{Code: 500, Body: "context deadline exceeded"}), database.ClassTimeout, workload.Unknown)
	mustClass(t, classify(over, canceled), database.ClassTimeout, workload.Unknown)
}

func TestCountStrings(t *testing.T) {
	for text, want := range map[string]int64{
		`[]`:                           0,
		` [ "a" ] `:                    1,
		`["a","b,c","[]","d\"e","\\"]`: 5,
		`["\\\"","x"]`:                 2,
		``:                             -1,
		`["a","b"`:                     -1,
		`["a`:                          -1,
		`null`:                         -1,
		`{"a":"b"}`:                    -1,
		`["a",1]`:                      -1,
		`"a"`:                          -1,
	} {
		n, err := eachString(strings.NewReader(text), func([]byte) {})
		if (err != nil) != (want < 0) || err == nil && n != want {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
}
