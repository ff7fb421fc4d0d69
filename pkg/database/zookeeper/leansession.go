package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/wire/exchange"
	"github.com/coreos/dbtester/pkg/wire/fiber"
)

// openLean returns once a server has confirmed a session and accepted the credentials.
// Answers may have at most maxAnswer bytes.
func openLean(ctx context.Context, t database.Target, maxAnswer int) (*lean, error) {
	r, err := routeTo(t)
	if err != nil {
		return nil, err
	}
	l := &lean{endpoints: r.endpoints, next: rand.IntN(len(r.endpoints)), tls: r.tls, acl: r.access.append(nil), maxAnswer: maxAnswer}
	if t.Auth != nil {
		l.credentials = credentials(t.Auth)
	}
	l.conn.Unsolicited = l.unsolicited
	l.conn.In.Expect(answerBytes)
	l.keepalive.beat = l.ping
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, err := l.conn.Begin(ctx); err != nil {
		return nil, err
	}
	err = l.connect(ctx)
	l.conn.End(err == nil)
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// ensureSession begins an exchange on a connection with a session. After an error
// the request was not sent.
func (l *lean) ensureSession(ctx context.Context) error {
	if l.closed.Load() {
		return zk.ErrClosing
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	connected, err := l.conn.Begin(ctx)
	if err == nil && connected {
		return nil
	}
	if err == nil {
		if err = l.connect(ctx); err == nil {
			return nil
		}
		l.conn.End(false)
	}
	if ended := exchange.Ended(ctx); ended != nil {
		return ended
	}
	return fmt.Errorf("%w: %w", zk.ErrNoServer, err)
}

// startPause is the pause between attempts to connect to servers that are still starting.
const startPause = 100 * time.Millisecond

// connect opens a session for the running exchange, with the first endpoint that
// confirms one.
func (l *lean) connect(ctx context.Context) error {
	fiber.Leave(ctx) // the following calls wait
	l.keepalive.stop()
	retries := newRetries(len(l.endpoints))
	for {
		err := l.handshake(ctx, l.endpoints[l.next])
		if err == nil {
			l.keepalive.start(l.timeout / 3)
			return nil
		}
		if exchange.Ended(ctx) != nil {
			return retries.ended(ctx)
		}
		l.next = (l.next + 1) % len(l.endpoints)
		if !retries.again(err) {
			return retries.failed()
		}
		var n *noAnswer
		if errors.As(err, &n) && !sleep.For(ctx, startPause) {
			return retries.ended(ctx)
		}
	}
}

// handshake connects to one server, requests a session and sends the credentials.
// It takes at most an equal share of the dial time, so every endpoint is tried.
func (l *lean) handshake(ctx context.Context, addr string) error {
	if err := l.conn.Connect(ctx, addr, l.tls); err != nil {
		return err
	}
	if err := l.conn.SetReadDeadline(time.Now().Add(dialTimeout / time.Duration(len(l.endpoints)))); err != nil {
		return err
	}
	// l.draft may hold a request that waits for this session.
	answer, err := requestSession(&l.conn, appendConnect(nil, l.zxid, sessionTimeout, 0, [passwdSize]byte{}))
	if err != nil {
		return err
	}
	l.timeout = answer.timeout
	l.pingPending.Store(false)
	if l.credentials != nil {
		if err := l.conn.Send(appendAuth(nil, digestScheme, l.credentials)); err != nil {
			return err
		}
		a, err := l.readHeader(xidAuth)
		if err == nil {
			err = errors.Join(errorOf(a.code), l.conn.In.Skip(a.size))
		}
		if err != nil {
			return err
		}
	}
	return l.conn.SetReadDeadline(time.Time{})
}

// requestSession sends a connect request and reads its answer.
func requestSession(conn *exchange.Conn, request []byte) (answer connectAnswer, err error) {
	if err := conn.Send(request); err != nil {
		return answer, asNoAnswer(err)
	}
	return readSession(conn.In.Next)
}

// readSession reads the answer to a connect request; next returns the next bytes.
func readSession(next func(n int) ([]byte, error)) (answer connectAnswer, err error) {
	b, err := next(lengthField)
	if err != nil {
		return answer, asNoAnswer(err)
	}
	length := lengthOf(b)
	if length < 0 || length > maxConnectAnswer {
		return answer, fmt.Errorf("%w: an answer to connect of %d bytes", errMalformed, length)
	}
	if b, err = next(int(length)); err != nil {
		return answer, err
	}
	if answer, err = parseConnectAnswer(b); err == nil && answer.session == 0 {
		err = zk.ErrSessionExpired
	}
	return answer, err
}

// unsolicited handles answers to pings, and notifications.
func (l *lean) unsolicited() error {
	for b := l.conn.In.Bytes(); len(b) >= lengthField+headerSize; b = l.conn.In.Bytes() {
		a, err := parseHeader(b, l.maxAnswer)
		switch {
		case err != nil:
			return err
		case a.xid != xidPing && a.xid != xidNotice:
			return fmt.Errorf("%w: it has xid %d without a request", errMalformed, a.xid)
		case len(b) < lengthField+headerSize+a.size:
			return nil
		}
		l.conn.In.Take(lengthField + headerSize + a.size)
		l.pingPending.Store(false)
	}
	return nil
}

var errNoPong = errors.New("the server did not answer a ping")

// ping sends a ping if the connection was unused for a while, so the server keeps the
// session. It closes an idle connection whose last ping was not answered. While a
// request waits, its own deadline limits the wait.
func (l *lean) ping() (again bool) {
	return l.conn.Keepalive(func(w io.Writer, busy bool, since time.Duration) error {
		switch {
		case l.pingPending.Load() && !busy:
			return errNoPong
		case since < l.timeout/6: // the next call is soon enough
			return nil
		}
		l.pingPending.Store(true)
		_, err := w.Write(sealed(appendHeader(nil, xidPing, opPing)))
		return err
	})
}

func (l *lean) close() {
	if l.closed.Swap(true) {
		return
	}
	l.keepalive.end()
	l.closeSession()
	l.conn.Close()
}

// closeSession asks the server to end the session, within a second, unless a request is running.
// Errors are ignored: the session then expires.
func (l *lean) closeSession() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	connected, err := l.conn.Begin(ctx)
	if err != nil {
		return
	}
	if connected && l.conn.SendDraft(sealed(l.begin(opClose, 0)), &l.draft) == nil {
		_, _ = l.readHeader(l.xid)
	}
	l.conn.End(false)
}
