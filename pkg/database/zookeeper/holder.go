package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/wire/exchange"
)

// flagEphemeral in a create request makes the znode end with the session.
const flagEphemeral = 1

// holder is one session over its own connection. The next request replaces a broken connection,
// with another member and the same session. Nothing renews the session automatically.
type holder struct {
	on     *holders
	asked  time.Duration
	member int // on the last connection
	wire   wire

	id       int64 // 0 before the grant
	password [passwdSize]byte
	ttl      time.Duration
	over     bool // the session has ended
	xid      int32
}

// wire is the connection, which is open after the first request.
type wire struct{ conn *exchange.Conn }

func (w *wire) open() *exchange.Conn {
	if w.conn == nil {
		w.conn = &exchange.Conn{}
		w.conn.In.Expect(lengthField + headerSize)
	}
	return w.conn
}

func (w *wire) close() {
	if w.conn != nil {
		w.conn.Close()
		w.conn = nil
	}
}

func (s *holder) TTL() time.Duration { return s.ttl }

// Attach creates an ephemeral znode.
func (s *holder) Attach(ctx context.Context, key, value []byte) error {
	path := appendName([]byte(s.on.parent+"/"), key)
	return s.exchange(ctx, func() ([]byte, int32) {
		b := appendBytes(appendBytes(s.begin(opCreate), path), value)
		return appendInt(s.on.access.append(b), flagEphemeral), s.xid
	})
}

// Take creates an ephemeral znode unless there is one.
func (s *holder) Take(ctx context.Context, key, value []byte) (bool, error) {
	err := s.Attach(ctx, key, value)
	if errors.Is(err, zk.ErrNodeExists) {
		return false, nil
	}
	return err == nil, err
}

// Keep sends a ping. To members any request is a renewal.
func (s *holder) Keep(ctx context.Context) error {
	return s.exchange(ctx, func() ([]byte, int32) { return appendHeader(nil, xidPing, opPing), xidPing })
}

// Abandon cuts the connection without ending the session.
func (s *holder) Abandon() { s.wire.close() }

// Release ends the session. After Abandon it reconnects to do so.
func (s *holder) Release(ctx context.Context) error {
	err := s.exchange(ctx, func() ([]byte, int32) { return s.begin(opClose), s.xid })
	s.wire.close()
	if errors.Is(err, database.ErrNoSession) {
		return nil
	}
	s.over = s.over || err == nil
	return err
}

// begin starts a request packet.
func (s *holder) begin(op int32) []byte {
	s.xid = max(1, s.xid+1)
	return appendHeader(nil, s.xid, op)
}

// exchange sends a request and reads its answer. Without a connection it connects first, which
// renews the session or begins it. A nil request only does that.
func (s *holder) exchange(ctx context.Context, request func() (packet []byte, xid int32)) error {
	if s.over {
		return database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	conn := s.wire.open()
	connected, err := conn.Begin(ctx)
	if err != nil {
		return classify(errors.Join(zk.ErrNoServer, err), false)
	}
	if !connected {
		if err = s.connect(ctx, conn); err != nil {
			conn.End(false)
			return s.failed(ctx, err, false)
		}
	}
	if request == nil {
		conn.End(true)
		return nil
	}
	packet, xid := request()
	if err = conn.Send(sealed(packet)); err == nil {
		err = s.read(conn, xid)
	}
	// After an error in an answer the connection stays usable, except if the session has
	// ended.
	var refused *answered
	conn.End(err == nil || errors.As(err, &refused) && !isOver(refused.err))
	return s.failed(ctx, err, true)
}

// failed classifies an error, and records whether the session has ended.
func (s *holder) failed(ctx context.Context, err error, started bool) error {
	switch {
	case err == nil:
		return nil
	case isOver(err) && s.id != 0:
		s.over = true
		return database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	if ended := exchange.Ended(ctx); ended != nil {
		err = ended
	}
	return classify(err, started)
}

// isOver reports whether a session has ended.
func isOver(err error) bool { return errors.Is(err, zk.ErrSessionExpired) }

// answered is the error of an answer.
type answered struct{ err error }

func (a *answered) Error() string { return a.err.Error() }
func (a *answered) Unwrap() error { return a.err }

// connect begins or continues the session, at the first member that allows it.
func (s *holder) connect(ctx context.Context, conn *exchange.Conn) error {
	var errs []error
	for range s.on.endpoints {
		err := s.handshake(ctx, conn, s.on.endpoints[s.member])
		if err == nil || isOver(err) || ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
		s.member = (s.member + 1) % len(s.on.endpoints)
	}
	return errors.Join(errs...)
}

// handshake connects to one member, requests the session and sends the credentials.
func (s *holder) handshake(ctx context.Context, conn *exchange.Conn, addr string) error {
	if err := conn.Connect(ctx, addr, s.on.tls); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(dialTimeout / time.Duration(len(s.on.endpoints)))); err != nil {
		return err
	}
	answer, err := requestSession(conn, appendConnect(nil, 0, s.asked, s.id, s.password))
	if err != nil {
		return err
	}
	s.id, s.password, s.ttl = answer.session, answer.password, answer.timeout
	if auth := s.on.target.Auth; auth != nil {
		if err := conn.Send(appendAuth(nil, digestScheme, credentials(auth))); err != nil {
			return err
		}
		if err := s.read(conn, xidAuth); err != nil {
			return err
		}
	}
	return conn.SetReadDeadline(time.Time{})
}

// read reads the answer to a request.
func (s *holder) read(conn *exchange.Conn, xid int32) error {
	for {
		b, err := conn.In.Next(lengthField + headerSize)
		if err != nil {
			return err
		}
		a, err := parseHeader(b, DefaultMaxPacket)
		if err != nil {
			return err
		}
		if err := conn.In.Skip(a.size); err != nil {
			return err
		}
		switch {
		case a.xid == xid && a.code == 0:
			return nil
		case a.xid == xid:
			return &answered{errorOf(a.code)}
		case a.xid != xidNotice:
			return fmt.Errorf("%w: it has xid %d, the request has %d", errMalformed, a.xid, xid)
		}
	}
}
