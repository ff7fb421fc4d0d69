package consul

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// leanTransport carries one HTTP/1.1 request at a time over one connection that
// it keeps alive. It starts no goroutines: the caller's writes the request and
// reads the answer. A request is never sent twice.
//
// It does less than net/http's: no trailers, no upgrades, and an answer must be
// read to its end before the next request.
type leanTransport struct {
	dialer *net.Dialer
	tls    *tls.Config // nil for plaintext

	mu   sync.Mutex // held by one request until its answer is read
	conn net.Conn   // nil when there is none
	r    *bufio.Reader
	w    *bufio.Writer
}

// RoundTrip sends a request and reads the head of its answer. The caller reads
// and closes the body.
func (t *leanTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	ctx := req.Context()
	t.mu.Lock()
	if err := t.connect(ctx, req.URL.Host); err != nil {
		t.mu.Unlock()
		return nil, err
	}
	conn := t.conn
	deadline, _ := ctx.Deadline() // zero is none
	err := conn.SetDeadline(deadline)
	// Only a context that can be cancelled before its deadline costs more.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	finish := func(reusable bool) {
		// A deadline that is being set now must not hit the next request.
		if !stop() || !reusable {
			t.disconnect()
		}
		t.mu.Unlock()
	}
	var resp *http.Response
	if err == nil {
		resp, err = t.exchange(req)
	}
	if err != nil {
		finish(false)
		return nil, over(ctx, err)
	}
	resp.Body = &leanBody{body: resp.Body, ctx: ctx, keep: !resp.Close, finish: finish}
	return resp, nil
}

// CloseIdleConnections closes the connection once no request uses it.
func (t *leanTransport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disconnect()
}

// connect makes a connection if there is none.
func (t *leanTransport) connect(ctx context.Context, addr string) error {
	if t.conn != nil {
		return nil
	}
	conn, err := t.dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	if t.tls != nil {
		secure := tls.Client(conn, t.configFor(addr))
		if err := secure.HandshakeContext(ctx); err != nil {
			return errors.Join(&net.OpError{Op: "dial", Net: "tcp", Err: err}, conn.Close())
		}
		conn = secure
	}
	t.conn = conn
	t.r, t.w = bufio.NewReaderSize(conn, bufferBytes), bufio.NewWriterSize(conn, bufferBytes)
	return nil
}

func (t *leanTransport) configFor(addr string) *tls.Config {
	config := t.tls.Clone()
	config.ServerName, _, _ = net.SplitHostPort(addr)
	return config
}

func (t *leanTransport) disconnect() {
	if t.conn != nil {
		_ = t.conn.Close() // nothing is unsent, and what is unread is lost on purpose
		t.conn = nil
	}
}

// exchange writes the request and reads the head of the answer.
func (t *leanTransport) exchange(req *http.Request) (*http.Response, error) {
	asks := req.ContentLength > askBytes
	if err := t.writeHead(req, asks); err != nil {
		return nil, err
	}
	if asks {
		if err := t.w.Flush(); err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(t.r, req)
		if err != nil || resp.StatusCode != http.StatusContinue {
			if resp != nil {
				resp.Close = true // the server expects no body any more, or still does
			}
			return resp, err
		}
	}
	if req.Body != nil {
		if _, err := io.Copy(t.w, req.Body); err != nil {
			return nil, err
		}
	}
	if err := t.w.Flush(); err != nil {
		return nil, err
	}
	return http.ReadResponse(t.r, req)
}

// writeHead writes the request's line and headers.
func (t *leanTransport) writeHead(req *http.Request, asks bool) error {
	fmt.Fprintf(t.w, "%s %s HTTP/1.1\r\nHost: %s\r\n", req.Method, req.URL.RequestURI(), req.URL.Host)
	if req.Body != nil || req.Method == http.MethodPut {
		fmt.Fprintf(t.w, "Content-Length: %d\r\n", req.ContentLength)
	}
	if asks {
		_, _ = t.w.WriteString("Expect: 100-continue\r\n")
	}
	if err := req.Header.Write(t.w); err != nil {
		return err
	}
	_, err := t.w.WriteString("\r\n") // reports what failed above, too
	return err
}

// leanBody is an answer's body, whose end frees the connection.
type leanBody struct {
	body   io.ReadCloser
	ctx    context.Context // of the request
	keep   bool            // the connection may carry another request
	ended  bool            // the body was read to its end
	finish func(reusable bool)
}

func (b *leanBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	switch {
	case err == io.EOF:
		b.ended = true
	case err != nil:
		err = over(b.ctx, err)
	}
	return n, err
}

// Close frees the connection, and closes it unless the body was read whole.
func (b *leanBody) Close() error {
	if b.finish != nil {
		b.finish(b.keep && b.ended)
		b.finish = nil
	}
	return nil
}

// over returns the context's error for one that comes of its end.
func over(ctx context.Context, err error) error {
	if why := ended(ctx); why != nil {
		return why
	}
	return err
}
