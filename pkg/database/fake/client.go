package fake

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// client is one connection to one member, for one caller at a time. The answer to an
// interrupted request may still arrive, so the connection is then closed and the next
// request opens another.
type client struct {
	endpoint string
	prefix   string   // of stored keys
	conn     net.Conn // nil before the first request and after a failed one
	r        *bufio.Reader
	w        *bufio.Writer
	closed   bool
}

var (
	_ database.Client  = (*client)(nil)
	_ database.Deleter = (*client)(nil)
)

// Dial opens one connection, to the preferred or else the first member.
func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	prefer := max(t.Prefer, 0)
	if prefer >= len(t.Endpoints) {
		return nil, fmt.Errorf("dial fake: the endpoint must be from 0 to %d, got %d", len(t.Endpoints)-1, prefer)
	}
	c := &client{endpoint: t.Endpoints[prefer], prefix: t.KeyPrefix()}
	if err := c.connect(ctx); err != nil {
		return nil, fmt.Errorf("dial fake: %w", err)
	}
	return c, nil
}

// Put creates or overwrites key.
func (c *client) Put(ctx context.Context, key, value []byte) error {
	_, err := c.do(ctx, opPut, c.below(key), value)
	return err
}

// Get returns the value of key.
func (c *client) Get(ctx context.Context, key []byte, _ workload.ReadMode) ([]byte, error) {
	return c.do(ctx, opGet, c.below(key), nil)
}

// Delete removes key.
func (c *client) Delete(ctx context.Context, key []byte) error {
	_, err := c.do(ctx, opDelete, c.below(key), nil)
	return err
}

// below returns the name under which a key is stored.
func (c *client) below(key []byte) []byte {
	if c.prefix == "" {
		return key
	}
	return append([]byte(c.prefix), key...)
}

// Close closes the connection.
func (c *client) Close() error {
	c.closed = true
	if c.conn == nil {
		return nil
	}
	err := c.conn.Close()
	c.conn = nil
	return err
}

// do sends one request and returns its answer, or the classified error in it.
func (c *client) do(ctx context.Context, op opcode, key, value []byte) ([]byte, error) {
	answer, err := c.roundTrip(ctx, op, key, value)
	if err != nil {
		return nil, err
	}
	return answer.result()
}

// roundTrip sends one request and waits for its answer. Errors are classified.
func (c *client) roundTrip(ctx context.Context, op opcode, key, value []byte) (*reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, database.NotApplied(classOf(ctx, err), err)
	}
	if c.conn == nil {
		if err := c.connect(ctx); err != nil {
			return nil, err
		}
	}
	// When ctx ends, so does the wait for the answer.
	conn := c.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	answer, err := c.exchange(op, key, value)
	if !stop() || err != nil {
		c.conn = nil
		_ = conn.Close()
	}
	if err != nil {
		return nil, database.MaybeApplied(classOf(ctx, err), err)
	}
	return answer, nil
}

// reply is an answer from the server.
type reply struct {
	code code
	data []byte
}

func (c *client) exchange(op opcode, key, value []byte) (*reply, error) {
	if err := writeFrame(c.w, byte(op), key, value); err != nil {
		return nil, err
	}
	kind, _, data, err := readFrame(c.r)
	if err != nil {
		return nil, noEOF(err)
	}
	return &reply{code: code(kind), data: data}, nil
}

// result returns the data of a reply, or its classified error.
func (r *reply) result() ([]byte, error) {
	refusal := errors.New(string(r.data))
	switch r.code {
	case codeOK:
		return r.data, nil
	case codeNotFound:
		return nil, database.ErrNotFound
	case codeRefused:
		return nil, database.NotApplied(database.ClassThrottled, refusal)
	case codeTooLarge:
		return nil, database.NotApplied(database.ClassTooLarge, refusal)
	case codeNotReady, codeUnavailable:
		return nil, database.NotApplied(database.ClassUnavailable, refusal)
	default:
		return nil, database.MaybeApplied(database.ClassConnection, refusal)
	}
}

func (c *client) connect(ctx context.Context) error {
	if c.closed {
		return database.NotApplied(database.ClassUnavailable, net.ErrClosed)
	}
	dialer := net.Dialer{Timeout: 2 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", c.endpoint)
	if err != nil {
		class := classOf(ctx, err)
		if class == database.ClassConnection {
			class = database.ClassUnavailable // there was no connection to lose
		}
		return database.NotApplied(class, err)
	}
	c.conn, c.r, c.w = conn, bufio.NewReader(conn), bufio.NewWriter(conn)
	return nil
}

// classOf returns the class for a failed request: by the error of ctx if ctx has ended, else a lost
// connection. A dialer may reach its deadline a moment before ctx does.
func classOf(ctx context.Context, err error) database.Class {
	var network net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return database.ClassCancelled
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		return database.ClassTimeout
	default:
		return database.ClassConnection
	}
}
