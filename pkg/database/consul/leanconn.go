package consul

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/coreos/dbtester/pkg/wire/exchange"
)

// leanConn carries one HTTP/1.1 exchange at a time over a connection it keeps alive and reopens
// when needed. It never sends a request twice.
type leanConn struct {
	exchange.Conn
	draft   exchange.Draft
	addr    string
	tls     *tls.Config // nil for plaintext
	maxBody int64       // bytes in the body of an answer
}

// headBytes is the usual size of the headers of an answer; longer ones take a second read.
const headBytes = 1 << 10

func (c *leanConn) in() input { return input{&c.In} }

// exchange sends a request and appends the body of its answer to out. A value that is not nil
// follows the head; with expect it is sent only once the server requests it.
func (c *leanConn) exchange(ctx context.Context, head, value []byte, expect bool, out []byte) (int, []byte, error) {
	connected, err := c.Begin(ctx)
	if err != nil {
		return 0, nil, err
	}
	if !connected {
		if err := c.Connect(ctx, c.addr, c.tls); err != nil {
			c.End(false)
			return 0, nil, err
		}
	}
	a, err := c.send(head, value, expect)
	if err == nil {
		had := len(out)
		out, err = c.in().body(a, out, c.maxBody)
		c.In.Expect(headBytes + len(out) - had) // the next answer is probably not larger
	}
	if err == nil && !c.In.Empty() {
		// HTTP/1.1 matches answers to requests only by order, so after an extra answer it is
		// unknown which one belongs to this request.
		err = fmt.Errorf("%w: %d more bytes follow it", errMalformed, len(c.In.Bytes()))
	}
	c.End(err == nil && !a.last)
	if err != nil {
		if reason := exchange.Ended(ctx); reason != nil {
			err = reason
		}
		return 0, nil, err
	}
	return a.status, out, nil
}

// send writes a request and reads the head of its answer.
func (c *leanConn) send(head, value []byte, expect bool) (responseHead, error) {
	var err error
	switch {
	case expect:
		a, taken, err := c.expectContinue(head)
		if err != nil || !taken {
			return a, err
		}
		if err := c.Write(value); err != nil {
			return responseHead{}, err
		}
		return c.in().head()
	case len(value) > 0:
		err = c.Write(head, value)
	default:
		err = c.SendDraft(head, &c.draft)
	}
	if err != nil {
		return responseHead{}, err
	}
	return c.in().head()
}

// expectContinue writes the head of a request and waits for "100 Continue", at most expectWithin.
// If taken is false, the answer is final and the body must not be sent.
func (c *leanConn) expectContinue(head []byte) (a responseHead, taken bool, err error) {
	if err := c.Write(head); err != nil {
		return a, false, err
	}
	if err := c.SetReadDeadline(time.Now().Add(expectWithin)); err != nil {
		return a, false, err
	}
	a, err = c.in().interim()
	if errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
		if late := c.SetReadDeadline(time.Time{}); late != nil {
			return a, false, late
		}
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded): // RFC 9110: the client may then send the body
		return a, true, nil
	case err != nil:
		return a, false, err
	case a.status == http.StatusContinue:
		return a, true, nil
	}
	a.last = true // the server may still expect the body
	return a, false, nil
}
