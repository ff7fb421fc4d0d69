package consul

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/coreos/dbtester/pkg/database/exchange"
)

// leanConn is one connection that carries one HTTP/1.1 exchange at a time, kept
// alive and made again when it is needed. Nothing is sent twice.
type leanConn struct {
	exchange.Conn
	addr string
	tls  *tls.Config // nil for plaintext
}

// headBytes is more than Consul's answers have before their body; a longer one
// only takes a second read.
const headBytes = 1 << 10

// in is what came and was not taken yet.
func (c *leanConn) in() input { return input{&c.In} }

// exchange sends a request and appends the body of its answer to out. A value that
// is not nil follows the head, once the server was asked for it if asks.
func (c *leanConn) exchange(ctx context.Context, head, value []byte, asks bool, out []byte) (int, []byte, error) {
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
	a, err := c.send(head, value, asks)
	if err == nil {
		had := len(out)
		out, err = c.in().body(a, out)
		c.In.Expect(headBytes + len(out) - had) // the next is probably no larger
	}
	c.End(err == nil && !a.last && c.In.Empty())
	if err != nil {
		if why := ended(ctx); why != nil {
			err = why
		}
		return 0, nil, err
	}
	return a.status, out, nil
}

// send writes a request, whose head may hold its body, and reads the head of its
// answer.
func (c *leanConn) send(head, value []byte, asks bool) (answer, error) {
	var err error
	switch {
	case asks:
		a, taken, err := c.ask(head)
		if err != nil || !taken {
			return a, err
		}
		if err := c.Write(value); err != nil {
			return answer{}, err
		}
		return c.in().head()
	case len(value) > 0:
		err = c.Write(head, value)
	default:
		err = c.Send(head)
	}
	if err != nil {
		return answer{}, err
	}
	return c.in().head()
}

// ask writes the head of a request and waits a while for the word that its body is
// welcome. If it is not taken, the answer is final.
func (c *leanConn) ask(head []byte) (a answer, taken bool, err error) {
	if err := c.Write(head); err != nil {
		return a, false, err
	}
	if err := c.Patience(time.Now().Add(expectWithin)); err != nil {
		return a, false, err
	}
	a, err = c.in().interim()
	if errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
		if late := c.Patience(time.Time{}); late != nil {
			return a, false, late
		}
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded): // a server that says nothing takes it
		return a, true, nil
	case err != nil:
		return a, false, err
	case a.status == http.StatusContinue:
		return a, true, nil
	}
	a.last = true // the server expects no body any more, or still does
	return a, false, nil
}
