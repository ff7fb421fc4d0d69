package selfcheck

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// client sends the number in a request's key over one connection.
type client struct {
	conn  net.Conn
	frame [8]byte
}

var _ database.Client = (*client)(nil)

// errReply is a reply to another request than the one that was sent.
var errReply = errors.New("the reply is to another request")

func (c *client) Put(ctx context.Context, key, _ []byte) error {
	number, err := strconv.ParseUint(string(key), 10, 64)
	if err != nil {
		return database.NotApplied(database.ClassOther, fmt.Errorf("number of a key: %w", err))
	}
	deadline, _ := ctx.Deadline() // without one it is zero: none
	if err := c.conn.SetDeadline(deadline); err != nil {
		return database.NotApplied(database.ClassConnection, err)
	}
	binary.BigEndian.PutUint64(c.frame[:], number)
	if _, err := c.conn.Write(c.frame[:]); err != nil {
		return database.MaybeApplied(database.ClassConnection, err)
	}
	if _, err := io.ReadFull(c.conn, c.frame[:]); err != nil {
		return database.MaybeApplied(database.ClassConnection, err)
	}
	if binary.BigEndian.Uint64(c.frame[:]) != number {
		return database.MaybeApplied(database.ClassWrongValue, errReply)
	}
	return nil
}

// Get is there for the contract; the check only writes.
func (c *client) Get(ctx context.Context, key []byte, _ database.ReadMode) ([]byte, error) {
	return nil, c.Put(ctx, key, nil)
}

func (c *client) Close() error { return c.conn.Close() }

// dial opens a connection for each of n clients.
func dial(ctx context.Context, address string, n int) ([]database.Client, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	var clients []database.Client
	for range n {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("dial the server: %w", err), closeAll(clients))
		}
		clients = append(clients, &client{conn: conn})
	}
	return clients, nil
}

func closeAll(clients []database.Client) error {
	var errs []error
	for _, c := range clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// null is a client that does nothing.
type null struct{}

func (null) Put(context.Context, []byte, []byte) error { return nil }

func (null) Get(context.Context, []byte, database.ReadMode) ([]byte, error) { return nil, nil }

func (null) Close() error { return nil }
