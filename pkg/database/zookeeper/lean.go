package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/exchange"
)

// lean is a session whose caller writes its packets and reads the answers; between
// them a timer writes pings. A connection that breaks, or that an exchange ran out
// of time on, is replaced by the next request, with a session of its own.
type lean struct {
	conn        exchange.Conn
	endpoints   []string
	at          int         // the endpoint that is tried next
	tls         *tls.Config // nil for plaintext
	credentials []byte      // that every session shows, nil for none
	access      []byte      // of what it creates, as part of a request
	most        int         // bytes of an answer

	pulse    pulse
	agreed   time.Duration // how long the server keeps a session that it does not hear from
	unheeded atomic.Bool   // the last ping was not answered

	closed  atomic.Bool
	xid     int32 // of the last request
	zxid    int64 // what servers had done by the last answer
	request []byte
}

// keepBytes bounds the buffer that is kept for the next request, answerBytes is the
// size of that for answers until one is larger: a thousand sessions should stay
// small.
const (
	keepBytes   = 16 << 10
	answerBytes = 512
)

// openLean opens a session, with answers of that many bytes at most, and returns
// when a server has confirmed it and was shown the credentials.
func openLean(ctx context.Context, t database.Target, most int) (*lean, error) {
	w, err := wayTo(t)
	if err != nil {
		return nil, err
	}
	l := &lean{endpoints: w.endpoints, at: rand.IntN(len(w.endpoints)), tls: w.tls, access: w.access.append(nil), most: most}
	if t.Auth != nil {
		l.credentials = credentials(t.Auth)
	}
	l.conn.Unasked = l.unasked
	l.conn.In.Expect(answerBytes)
	l.pulse.beat = l.tend
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

func (l *lean) add(ctx context.Context, path, value []byte) error {
	const flags = 0
	b := appendBytes(appendBytes(l.begin(opCreate), path), value)
	return l.do(ctx, appendInt(append(b, l.access...), flags))
}

func (l *lean) set(ctx context.Context, path, value []byte, version int32) error {
	b := appendBytes(appendBytes(l.begin(opSetData), path), value)
	return l.do(ctx, appendInt(b, version))
}

func (l *lean) remove(ctx context.Context, path []byte) error {
	return l.do(ctx, appendInt(appendBytes(l.begin(opDelete), path), anyVersion))
}

func (l *lean) sync(ctx context.Context, path []byte) error {
	return unlessAbsent(l.do(ctx, appendBytes(l.begin(opSync), path)))
}

func (l *lean) get(ctx context.Context, path []byte) (value []byte, version int32, err error) {
	const watch = 0
	a, err := l.ask(ctx, append(appendBytes(l.begin(opGetData), path), watch))
	if err != nil {
		return nil, 0, err
	}
	if a.code == 0 {
		if value, version, err = l.data(&a); err != nil {
			return nil, 0, l.lost(ctx, err)
		}
	}
	return value, version, l.done(ctx, a)
}

// begin begins the next request.
func (l *lean) begin(op int32) []byte {
	l.xid = max(1, l.xid+1) // after the largest number comes 1
	return appendHeader(l.request, l.xid, op)
}

// do makes a request whose answer is only that it was done.
func (l *lean) do(ctx context.Context, request []byte) error {
	a, err := l.ask(ctx, request)
	if err != nil {
		return err
	}
	return l.done(ctx, a)
}

// ask sends a request, without its length, and reads the header of its answer. If
// there is no error, the exchange goes on until done or lost.
func (l *lean) ask(ctx context.Context, request []byte) (header, error) {
	if cap(request) <= keepBytes {
		l.request = request
	}
	if err := l.ready(ctx); err != nil {
		return header{}, classify(err, false)
	}
	if err := l.conn.Send(sealed(request)); err != nil {
		return header{}, l.lost(ctx, err)
	}
	a, err := l.answer(l.xid)
	if err != nil {
		return header{}, l.lost(ctx, err)
	}
	return a, nil
}

// done reads what is left of an answer, and ends the exchange.
func (l *lean) done(ctx context.Context, a header) error {
	if err := l.conn.In.Skip(a.size); err != nil {
		return l.lost(ctx, err)
	}
	err := errorOf(a.code)
	switch {
	case errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrSessionMoved), errors.Is(err, zk.ErrClosing), errors.Is(err, zk.ErrAuthFailed):
		l.conn.End(false) // this session serves no more
	default:
		l.conn.End(true)
	}
	return classify(err, true)
}

// lost ends an exchange whose request was sent and whose answer was not had.
func (l *lean) lost(ctx context.Context, err error) error {
	l.conn.End(false)
	if why := ctx.Err(); why != nil {
		err = why
	}
	return classify(err, true)
}

// answer reads the header of the answer to a request, and all before it that nobody
// waits for.
func (l *lean) answer(xid int32) (header, error) {
	for {
		b, err := l.conn.In.Next(lengthField + headerSize)
		if err != nil {
			return header{}, err
		}
		a, err := parseHeader(b, l.most)
		if err != nil {
			return header{}, err
		}
		if l.unheeded.Load() {
			l.unheeded.Store(false)
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
			return header{}, fmt.Errorf("%w: to a request that was not made", errMalformed)
		}
	}
}

// data reads a value and the version of its znode.
func (l *lean) data(a *header) (value []byte, version int32, err error) {
	if a.size < lengthField+statSize {
		return nil, 0, fmt.Errorf("%w: %d bytes are no value", errMalformed, a.size)
	}
	b, err := l.conn.In.Next(lengthField)
	if err != nil {
		return nil, 0, err
	}
	length := max(0, int64(lengthOf(b))) // -1 for a znode that has none
	if length > int64(a.size-lengthField-statSize) {
		return nil, 0, fmt.Errorf("%w: a value of %d bytes in %d", errMalformed, length, a.size)
	}
	if value, err = l.conn.In.Append(nil, length); err != nil {
		return nil, 0, err
	}
	stat, err := l.conn.In.Next(statSize)
	if err != nil {
		return nil, 0, err
	}
	a.size -= lengthField + int(length) + statSize
	return value, versionOf(stat), nil
}

// ready begins an exchange on a connection that has a session. An error is one of a
// request that was not sent.
func (l *lean) ready(ctx context.Context) error {
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
	if why := ctx.Err(); why != nil {
		return why
	}
	return fmt.Errorf("%w: %w", zk.ErrNoServer, err)
}

// connect opens a session for the exchange that goes on.
func (l *lean) connect(ctx context.Context) error {
	l.pulse.stop()
	tries := newAttempts(len(l.endpoints))
	for {
		err := l.greet(ctx, l.endpoints[l.at])
		if err == nil {
			l.pulse.start(l.agreed / 3)
			return nil
		}
		if ctx.Err() != nil {
			return tries.ended(ctx)
		}
		l.at = (l.at + 1) % len(l.endpoints)
		if !tries.again(err) {
			return tries.failed()
		}
		var u *unheard
		if errors.As(err, &u) && !pause(ctx) {
			return tries.ended(ctx)
		}
	}
}

// pause waits until a server that hung up may have started, and says whether ctx
// goes on.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(100 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// greet connects to one server, asks for a session and shows the credentials. Every
// endpoint has its turn within the time of a dial.
func (l *lean) greet(ctx context.Context, addr string) error {
	if err := l.conn.Connect(ctx, addr, l.tls); err != nil {
		return err
	}
	if err := l.conn.Patience(time.Now().Add(dialTimeout / time.Duration(len(l.endpoints)))); err != nil {
		return err
	}
	// Not the buffer of requests, which holds one that waits for the session.
	if err := l.hello(appendConnect(nil, l.zxid, sessionTimeout)); err != nil {
		return err
	}
	if l.credentials != nil {
		if err := l.conn.Send(appendAuth(nil, digestScheme, l.credentials)); err != nil {
			return err
		}
		a, err := l.answer(xidAuth)
		if err == nil {
			err = errors.Join(errorOf(a.code), l.conn.In.Skip(a.size))
		}
		if err != nil {
			return err
		}
	}
	return l.conn.Patience(time.Time{})
}

// hello asks for a session.
func (l *lean) hello(request []byte) error {
	if err := l.conn.Send(request); err != nil {
		return unheardOf(err)
	}
	const most = 1 << 10
	b, err := l.conn.In.Next(lengthField)
	if err != nil {
		return unheardOf(err)
	}
	length := lengthOf(b)
	if length < 0 || length > most {
		return fmt.Errorf("%w: %d bytes of welcome", errMalformed, length)
	}
	if b, err = l.conn.In.Next(int(length)); err != nil {
		return err
	}
	w, err := parseWelcome(b)
	if err == nil && w.session == 0 {
		err = zk.ErrSessionExpired
	}
	l.agreed = w.timeout
	l.unheeded.Store(false)
	return err
}

// unasked takes answers to pings, and what a server tells of itself.
func (l *lean) unasked() error {
	for b := l.conn.In.Bytes(); len(b) >= lengthField+headerSize; b = l.conn.In.Bytes() {
		a, err := parseHeader(b, l.most)
		switch {
		case err != nil:
			return err
		case a.xid != xidPing && a.xid != xidNotice:
			return errMalformed
		case len(b) < lengthField+headerSize+a.size:
			return nil
		}
		l.conn.In.Take(lengthField + headerSize + a.size)
		l.unheeded.Store(false)
	}
	return nil
}

// errDeaf is that a server heeds no ping.
var errDeaf = errors.New("no answer to a ping")

// tend pings a server that heard nothing for a while, so that it keeps the session,
// and gives a connection up whose last ping was not answered. A request that waits
// has its own deadline.
func (l *lean) tend() (again bool) {
	return l.conn.Tend(func(conn net.Conn, busy bool, since time.Duration) error {
		switch {
		case l.unheeded.Load() && !busy:
			return errDeaf
		case since < l.agreed/6: // the next time is still soon enough
			return nil
		}
		const within = 100 * time.Millisecond // of 12 bytes
		ping := sealed(appendHeader(nil, xidPing, opPing))
		l.unheeded.Store(true)
		if err := conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
			return err
		}
		if _, err := conn.Write(ping); err != nil {
			return err
		}
		return conn.SetWriteDeadline(time.Time{})
	})
}

func (l *lean) close() {
	if l.closed.Swap(true) {
		return
	}
	l.pulse.end()
	l.farewell()
	l.conn.Close()
}

// farewell ends the session, unless a request goes on. Its outcome doesn't matter:
// the server has answered, or never will.
func (l *lean) farewell() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	connected, err := l.conn.Begin(ctx)
	if err != nil {
		return
	}
	if connected && l.conn.Send(sealed(l.begin(opClose))) == nil {
		_, _ = l.answer(l.xid)
	}
	l.conn.End(false)
}
