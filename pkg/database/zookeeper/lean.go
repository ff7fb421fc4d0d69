package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/wire/exchange"
)

// lean is a session whose caller writes packets and reads answers; between requests
// a timer writes pings. The next request replaces a connection that broke or whose
// exchange timed out, with a new session. Only one goroutine at a time may send
// requests.
type lean struct {
	conn        exchange.Conn
	endpoints   []string
	next        int         // endpoint for the next connection attempt
	tls         *tls.Config // nil for plaintext
	credentials []byte      // sent in every session, or nil
	acl         []byte      // for created znodes, encoded for a request
	maxAnswer   int         // bytes

	keepalive   keepalive
	timeout     time.Duration // of the session, as the server set it
	pingPending atomic.Bool   // the last ping was not answered

	closed atomic.Bool
	xid    int32 // of the last request
	zxid   int64 // the newest transaction of any answer
	draft  exchange.Draft
}

// answerBytes is the initial size of the answer buffer. It keeps a thousand sessions small.
const answerBytes = 512

func (l *lean) add(ctx context.Context, path, value []byte) error {
	const flags = 0
	b := appendBytes(appendBytes(l.begin(opCreate, len(path)+len(value)+len(l.acl)), path), value)
	return l.do(ctx, appendInt(append(b, l.acl...), flags))
}

func (l *lean) set(ctx context.Context, path, value []byte, version int32) error {
	b := appendBytes(appendBytes(l.begin(opSetData, len(path)+len(value)), path), value)
	return l.do(ctx, appendInt(b, version))
}

func (l *lean) remove(ctx context.Context, path []byte) error {
	return l.do(ctx, appendInt(appendBytes(l.begin(opDelete, len(path)), path), anyVersion))
}

func (l *lean) sync(ctx context.Context, path []byte) error {
	return ignoreNoNode(l.do(ctx, appendBytes(l.begin(opSync, len(path)), path)))
}

func (l *lean) get(ctx context.Context, to, path []byte) (value []byte, version int32, err error) {
	const watch = 0
	a, err := l.send(ctx, append(appendBytes(l.begin(opGetData, len(path)), path), watch))
	if err != nil {
		return nil, 0, err
	}
	if a.code == 0 {
		if value, version, err = l.readData(&a, to); err != nil {
			return nil, 0, l.fail(ctx, err)
		}
	}
	return value, version, l.finish(ctx, a)
}

// begin starts the packet of the next request; its texts have texts bytes.
func (l *lean) begin(op int32, texts int) []byte {
	const others = 64       // bytes, for the header, lengths and numbers
	l.xid = max(1, l.xid+1) // 1 follows the largest number
	return appendHeader(l.draft.Begin(texts+others), l.xid, op)
}

// do sends a request for which the body of the answer does not matter.
func (l *lean) do(ctx context.Context, request []byte) error {
	a, err := l.send(ctx, request)
	if err != nil {
		return err
	}
	return l.finish(ctx, a)
}

// send fills in the length of a request, sends it and reads the header of the answer. Without an
// error the exchange lasts until finish or fail.
func (l *lean) send(ctx context.Context, request []byte) (header, error) {
	if err := l.ensureSession(ctx); err != nil {
		return header{}, classify(err, false)
	}
	if err := l.conn.SendDraft(sealed(request), &l.draft); err != nil {
		return header{}, l.fail(ctx, err)
	}
	a, err := l.readHeader(l.xid)
	if err != nil {
		return header{}, l.fail(ctx, err)
	}
	return a, nil
}

// finish skips the rest of an answer and ends the exchange.
func (l *lean) finish(ctx context.Context, a header) error {
	if err := l.conn.In.Skip(a.size); err != nil {
		return l.fail(ctx, err)
	}
	err := errorOf(a.code)
	switch {
	case errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrSessionMoved), errors.Is(err, zk.ErrClosing), errors.Is(err, zk.ErrAuthFailed), errors.Is(err, serverError{-124}):
		l.conn.End(false) // the server accepts no more requests in this session
	default:
		l.conn.End(true)
	}
	return classify(err, true)
}

// fail ends an exchange whose request was sent and whose answer was not received.
func (l *lean) fail(ctx context.Context, err error) error {
	l.conn.End(false)
	if ended := exchange.Ended(ctx); ended != nil {
		err = ended
	}
	return classify(err, true)
}

// readHeader reads the header of the answer to a request, and skips answers to pings and
// notifications before it.
func (l *lean) readHeader(xid int32) (header, error) {
	for {
		b, err := l.conn.In.Next(lengthField + headerSize)
		if err != nil {
			return header{}, err
		}
		a, err := parseHeader(b, l.maxAnswer)
		if err != nil {
			return header{}, err
		}
		if l.pingPending.Load() {
			l.pingPending.Store(false)
		}
		switch a.xid {
		case xid:
			l.zxid = max(l.zxid, a.zxid)
			l.conn.In.Expect(lengthField + headerSize + a.size)
			return a, nil
		case xidPing, xidNotice:
			if err := l.conn.In.Skip(a.size); err != nil {
				return header{}, err
			}
		default:
			return header{}, fmt.Errorf("%w: it has xid %d, the request has %d", errMalformed, a.xid, xid)
		}
	}
}

// readData appends the value in an answer to a buffer, and reads the znode version.
func (l *lean) readData(a *header, to []byte) (value []byte, version int32, err error) {
	if a.size < lengthField+statSize {
		return nil, 0, fmt.Errorf("%w: %d bytes are too few for a value", errMalformed, a.size)
	}
	b, err := l.conn.In.Next(lengthField)
	if err != nil {
		return nil, 0, err
	}
	length := max(0, int64(lengthOf(b))) // -1 for a znode without a value
	if length > int64(a.size-lengthField-statSize) {
		return nil, 0, fmt.Errorf("%w: it announces a value of %d bytes in a packet of %d", errMalformed, length, a.size)
	}
	if value, err = l.conn.In.Append(to, length); err != nil {
		return nil, 0, err
	}
	stat, err := l.conn.In.Next(statSize)
	if err != nil {
		return nil, 0, err
	}
	a.size -= lengthField + int(length) + statSize
	return value, versionOf(stat), nil
}
