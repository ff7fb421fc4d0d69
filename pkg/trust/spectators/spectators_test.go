package spectators

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain allows connections that net/http closes half a second after an answer that refused a
// request whose body was not read.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// served returns the address at which a server says hello, until the test ends.
func served(t *testing.T) string {
	t.Helper()
	l, err := Listen(t.Context(), "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	s := New(context.Background(), l, mux)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return l.Addr().String()
}

// ask sends a request with some header lines, and returns the status.
func ask(t *testing.T, at, line string, header ...string) int {
	t.Helper()
	var dialer net.Dialer
	c, err := dialer.DialContext(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "%s HTTP/1.1\r\n%s\r\nConnection: close\r\n\r\n", line, strings.Join(header, "\r\n")); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// Requests to other names, from other sites and with a long header are refused.
func TestWhoMayLook(t *testing.T) {
	at := served(t)
	for _, c := range []struct {
		line   string
		header []string
		want   int
	}{
		{"GET /hello", []string{"Host: " + at}, http.StatusOK},
		{"GET /hello", []string{"Host: LocalHost:1"}, http.StatusOK},
		{"GET /hello", []string{"Host: [::1]"}, http.StatusOK},
		{"GET /hello", []string{"Host: evil.example"}, http.StatusMisdirectedRequest},
		{"GET /hello", []string{"Host: localhost.evil.example"}, http.StatusMisdirectedRequest},
		{"GET /hello", []string{"Host: "}, http.StatusMisdirectedRequest},
		{"GET /hello", []string{"Host: localhost", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"}, http.StatusForbidden},
		{"GET /hello", []string{"Host: localhost", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors"}, http.StatusForbidden},
		{"GET /hello", []string{"Host: localhost", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, http.StatusOK},
		{"GET /hello", []string{"Host: localhost", "X-Long: " + strings.Repeat("x", 24<<10)}, http.StatusRequestHeaderFieldsTooLarge},
		{"POST /hello", []string{"Host: localhost"}, http.StatusMethodNotAllowed},
	} {
		if got := ask(t, at, c.line, c.header...); got != c.want {
			t.Errorf("%s with %.60q: got %d, want %d", c.line, c.header, got, c.want)
		}
	}
}

// Callers beyond the bound wait until another leaves.
func TestManyConnections(t *testing.T) {
	at := served(t)
	var dialer net.Dialer
	var idle []net.Conn
	for range mostConnections {
		c, err := dialer.DialContext(t.Context(), "tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
		// The server has accepted a connection once it answers on it.
		if _, err := io.WriteString(c, "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
			t.Fatal(err)
		}
	}
	answered := make(chan int, 1)
	go func() { answered <- ask(t, at, "GET /hello", "Host: localhost") }()
	select {
	case <-answered:
		t.Error("a connection beyond the bound was served")
	default:
	}
	idle[0].Close()
	if got := <-answered; got != http.StatusOK {
		t.Errorf("after one left, the next caller got %d", got)
	}
	for _, c := range idle[1:] {
		c.Close()
	}
}

func TestListen(t *testing.T) {
	if l, err := Listen(t.Context(), "0.0.0.0:0", nil); err == nil {
		l.Close()
		t.Error("an address that other machines reach was listened on without certificates")
	}
	if l, err := Listen(t.Context(), "nothing", nil); err == nil {
		l.Close()
		t.Error("no address was listened on")
	}
}
