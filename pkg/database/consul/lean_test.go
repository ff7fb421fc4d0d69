package consul

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/wire/exchange"
	"github.com/coreos/dbtester/pkg/workload"
)

// Answers are read the same however they are split. Answers that net/http refuses are
// refused.
func TestAnswers(t *testing.T) {
	tests := []struct {
		name, text string
		status     int // 0 for an error
		body       string
		last       bool
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue", 200, "true", false},
		{"odd spelling", "HTTP/1.1 200\r\ncontent-LENGTH:\t4 \r\nX: \r\n\r\ntrue", 200, "true", false},
		{"empty", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, "", false},
		{"twice the same length", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 200, "x", false},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", false},
		{"close", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\nx", 200, "x", true},
		{"old", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x", true},
		{"to the end", "HTTP/1.1 200 OK\r\n\r\nabc", 200, "abc", true},
		{"continue", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x", false},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\nA;ext=1\r\n0123456789\r\n0\r\n\r\n", 200, "abc0123456789", false},
		{"trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n", 200, "a", false},
		{"many headers", "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 60) + "Content-Length: 1\r\n\r\nx", 200, "x", false},
		{"long body", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("0123456789", 1e4), 200, strings.Repeat("0123456789", 1e4), false},

		{"nothing", "", 0, "", false},
		{"garbage", "garbage\r\n", 0, "", false},
		{"another protocol", "SSH-2.0-OpenSSH\r\n\r\n", 0, "", false},
		{"no status", "HTTP/1.1 OK\r\n\r\n", 0, "", false},
		{"short status", "HTTP/1.1 20\r\n\r\n", 0, "", false},
		{"long status", "HTTP/1.1 2000\r\n\r\n", 0, "", false},
		{"low status", "HTTP/1.1 099\r\n\r\n", 0, "", false},
		{"half a head", "HTTP/1.1 200 OK\r\nContent-Le", 0, "", false},
		{"no colon", "HTTP/1.1 200 OK\r\nContent-Length 4\r\n\r\ntrue", 0, "", false},
		{"folded", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n more: x\r\n\r\ntrue", 0, "", false},
		{"space in a name", "HTTP/1.1 200 OK\r\nContent-Length : 4\r\n\r\ntrue", 0, "", false},
		{"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", 0, "", false},
		{"huge length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", 0, "", false},
		{"length never sent", "HTTP/1.1 200 OK\r\nContent-Length: 999999999999999\r\n\r\nx", 0, "", false},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", 0, "", false},
		{"another coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxy", 0, "", false},
		{"early close", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntrue", 0, "", false},
		{"chunk without a size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 0, "", false},
		{"chunk too long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n", 0, "", false},
		{"huge chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc", 0, "", false},
		{"chunks without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", 0, "", false},
		{"oversize head", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("b", maxHead+bufferBytes) + "\r\n\r\n", 0, "", false},
		{"oversize line", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("0", maxHead+2*bufferBytes), 0, "", false},
		{"interim for ever", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100), 0, "", false},
		{"another protocol is offered", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 0, "", false},
	}
	for _, tt := range tests {
		for how, cut := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "end with data": iotest.DataErrReader,
		} {
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				in := inputOf(cut(strings.NewReader(tt.text)))
				a, body, err := read(in)
				if tt.status == 0 {
					if err == nil || !errors.Is(err, errMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Fatalf("got %+v, %.20q, %v", a, body, err)
					}
					return
				}
				if err != nil || a.status != tt.status || string(body) != tt.body || a.last != tt.last {
					t.Errorf("got %+v, %.20q, %v", a, body, err)
				}
				if !in.Empty() {
					t.Errorf("%d bytes are left", len(in.Bytes()))
				}
			})
		}
	}
}

// testMaxBody is more than any body in the tests.
const testMaxBody = 1 << 60

func read(in input) (responseHead, []byte, error) {
	a, err := in.head()
	if err != nil {
		return a, nil, err
	}
	body, err := in.body(a, nil, testMaxBody)
	return a, body, err
}

// For any bytes the result equals that of net/http, if it accepts them too, and does not depend on
// how they are split.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 500 x\r\nConnection: close\r\n\r\nNo cluster leader"))
	f.Add([]byte("HTTP/1.0 204 x\r\nA: b\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, body, err := read(inputOf(bytes.NewReader(text)))
		b, again, errAgain := read(inputOf(iotest.OneByteReader(bytes.NewReader(text))))
		if (err == nil) != (errAgain == nil) || err == nil && (a != b || !bytes.Equal(body, again)) {
			t.Fatalf("whole: %+v, %q, %v; in bytes: %+v, %q, %v", a, body, err, b, again, errAgain)
		}
		if err != nil || bytes.Contains(text, []byte("HTTP/1.1 1")) || bytes.Contains(text, []byte("HTTP/1.0 1")) {
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
		if err != nil {
			return
		}
		want, err := io.ReadAll(resp.Body)
		if err == nil && (resp.StatusCode != a.status || !bytes.Equal(want, body)) {
			t.Fatalf("got %+v, %q; net/http reads %d, %q", a, body, resp.StatusCode, want)
		}
	})
}

// The URL for any key is the one that the library would use.
func TestPathsAreTheLibrarys(t *testing.T) {
	sample := &captured{}
	library, _, err := library(database.Target{Endpoints: []string{"127.0.0.1:1"}}, 0, sample)
	if err != nil {
		t.Fatalf("make the client library: %v", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 1, 40),
			rapid.Custom(func(t *rapid.T) []byte { return []byte(rapid.StringMatching(`[ -~/.%]{1,40}`).Draw(t, "text")) })).Draw(t, "key")
		name, err := encodeKey(key)
		if err != nil {
			t.Fatalf("encode a key: %v", err)
		}
		_, _, _ = library.KV().Get(name, nil)
		if diff := cmp.Diff(sample.request.URL.RequestURI(), "/v1/kv/"+string(appendPath(nil, key))); diff != "" {
			t.Error(diff)
		}
	})
}

// The environment adds the same to these requests as to those by the library.
func TestRequests(t *testing.T) {
	t.Setenv("CONSUL_NAMESPACE", "team a")
	t.Setenv("CONSUL_HTTP_TOKEN", "from outside")
	o := New()
	o.Transport = database.Lean
	got := make(chan string, 1)
	c := openTo(t, way{o, false}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- fmt.Sprint(r.Method, " ", r.URL, " ", r.Header.Get("Accept-Encoding"), r.Header.Get("X-Consul-Token"), " ", r.ContentLength, " ", string(body))
		_, _ = io.WriteString(w, "true")
	})
	check := func(err error, want string) {
		t.Helper()
		mustClass(t, err, "", workload.OK)
		if diff := cmp.Diff(want, <-got); diff != "" {
			t.Error(diff)
		}
	}
	check(c.Put(t.Context(), []byte("k"), []byte("v")), "PUT /v1/kv/k?ns=team+a& from outside 1 v")
	check(c.Delete(t.Context(), []byte("k")), "DELETE /v1/kv/k?ns=team+a& from outside 0 ")
	_, err := c.Get(t.Context(), []byte("k"), workload.ReadStale)
	check(err, "GET /v1/kv/k?ns=team+a&raw&stale from outside 0 ")
}

// A token that would end its header is refused without being shown.
func TestLeanBadToken(t *testing.T) {
	o := New()
	o.Transport = database.Lean
	_, err := o.members(database.Target{Endpoints: []string{"127.0.0.1:1"}, Auth: &database.Auth{Password: "hunter2\r\nX: y"}}).client(0)
	mustClass(t, err, database.ClassDenied, workload.Failed)
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("make the client: %v", err)
	}
}

// One context serves many requests; its end ends the one in flight and refuses the
// next; and a context that ended after its request hits no other.
func TestLeanContexts(t *testing.T) { overLean(t, testLeanContexts) }

func testLeanContexts(t *testing.T, o way) {
	var silent atomic.Bool
	var from atomic.Value // the client address
	asked := make(chan struct{}, 1)
	c := openTo(t, o, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see the client leave
		from.Store(r.RemoteAddr)
		if silent.Load() {
			asked <- struct{}{}
			<-r.Context().Done()
		}
		_, _ = io.WriteString(w, "true")
	})
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		for range 50 {
			mustClass(t, c.Put(ctx, []byte("secret"), []byte("v")), "", workload.OK)
		}
		silent.Store(true)
		go func() { <-asked; cancel() }()
		mustClass(t, c.Put(ctx, []byte("secret"), []byte("v")), database.ClassCancelled, workload.Unknown)
		silent.Store(false)
		mustClass(t, c.Put(ctx, []byte("secret"), []byte("v")), database.ClassCancelled, workload.Failed)
	}
	mustClass(t, c.Put(t.Context(), []byte("secret"), []byte("v")), "", workload.OK)
	first := from.Load()
	for range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
		mustClass(t, c.Put(ctx, []byte("secret"), []byte("v")), "", workload.OK)
		cancel() // in the middle of the next request
	}
	if from.Load() != first {
		t.Error("a context that ended after its request costs a connection")
	}
}

// idleFor exceeds the idle time after which a connection is checked.
const idleFor = 20 * time.Millisecond

// A connection the server closed while it was idle is replaced before the next request.
func TestLeanIdleClose(t *testing.T) { overLean(t, testLeanIdleClose) }

func testLeanIdleClose(t *testing.T, o way) {
	for _, name := range []string{"closed", "408 before it closes"} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatalf("listen on loopback: %v", err)
			}
			defer listener.Close()
			var requests atomic.Int64
			answered, closed := make(chan struct{}), make(chan struct{})
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
						requests.Add(1)
						_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue")
						<-answered // so that the next bytes arrive in their own packet
						if name != "closed" {
							_, _ = io.WriteString(conn, "HTTP/1.1 408 Request Timeout\r\n\r\n")
						}
					}
					_ = conn.Close()
					closed <- struct{}{}
				}
			}()
			c := open(t, o, listener.Addr().String())
			for range 5 {
				mustClass(t, c.Put(t.Context(), []byte("secret"), []byte("v")), "", workload.OK)
				answered <- struct{}{}
				<-closed
				time.Sleep(idleFor)
			}
			if n := requests.Load(); n != 5 {
				t.Errorf("5 writes became %d requests", n)
			}
		})
	}
}

// A server that sends no "100 Continue" gets a large body after a while.
func TestLeanNoContinue(t *testing.T) { overLean(t, testLeanNoContinue) }

func testLeanNoContinue(t *testing.T, o way) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	defer listener.Close()
	arrived := make(chan int64, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			n, _ := io.Copy(io.Discard, r.Body)
			arrived <- n
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue")
		}
	}()
	c := open(t, o, listener.Addr().String())
	mustClass(t, c.Put(t.Context(), []byte("secret"), make([]byte, 2*expectBytes)), "", workload.OK)
	if n := <-arrived; n != 2*expectBytes {
		t.Errorf("%d bytes of the value arrived, want %d", n, 2*expectBytes)
	}
}

// inputOf reads answers from a reader instead of a connection.
func inputOf(from io.Reader) input {
	in := &exchange.Input{}
	in.Reset(from)
	return input{in}
}

// After an unsolicited answer it is unknown which answer belongs to which request. The
// connection is closed, and the write may have been applied. The next write gets a new
// connection.
func TestLeanUnsolicitedAnswer(t *testing.T) { overLean(t, testLeanUnsolicitedAnswer) }

func testLeanUnsolicitedAnswer(t *testing.T, o way) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue"
	addr := scripted(t, func(number int, conn net.Conn, r *bufio.Reader) {
		for {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			text := answer
			if number == 0 {
				text += answer
			}
			_, _ = io.WriteString(conn, text)
		}
	})
	c := open(t, o, addr)
	mustClass(t, c.Put(t.Context(), []byte("secret"), []byte("v")), database.ClassConnection, workload.Unknown)
	for range 3 {
		mustClass(t, c.Put(t.Context(), []byte("secret"), []byte("v")), "", workload.OK)
	}
}

// scripted serves connections by a function, which gets their number from 0, until
// the test ends. It returns the address.
func scripted(t *testing.T, serve func(number int, conn net.Conn, r *bufio.Reader)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.16.5.1:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for number := 0; ; number++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(number, conn, bufio.NewReader(conn))
			}()
		}
	}()
	return listener.Addr().String()
}

// No answer about one key takes more memory than the largest value needs, over either
// transport and however its end is given.
func TestEndlessAnswers(t *testing.T) {
	for name, head := range map[string]string{
		"chunks":           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"length":           "HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n",
		"until it closes":  "HTTP/1.1 200 OK\r\n\r\n",
		"one endless word": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n[{\"Value\":\"",
	} {
		t.Run(name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, o way) {
				o.KVMaxValueSize = 100_000
				addr := scripted(t, func(_ int, conn net.Conn, r *bufio.Reader) {
					if _, err := http.ReadRequest(r); err != nil {
						return
					}
					part := bytes.Repeat([]byte(" "), 1<<16)
					if strings.Contains(head, "chunked") {
						part = append(append([]byte("10000\r\n"), part...), "\r\n"...)
					}
					_, err := io.WriteString(conn, head)
					for sent := 0; err == nil && sent < 1<<30; sent += len(part) {
						_, err = conn.Write(part)
					}
				})
				c := open(t, o, addr)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := c.Get(t.Context(), []byte("secret"), workload.ReadStale)
				runtime.ReadMemStats(&after)
				if outcome, _ := database.Classify(err); outcome != workload.Unknown {
					t.Errorf("outcome of an endless answer is %v, want %v: %v", outcome, workload.Unknown, err)
				}
				if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
					t.Errorf("%d MiB were allocated for an answer that may have 0.3 MiB", grown>>20)
				}
			})
		})
	}
}
