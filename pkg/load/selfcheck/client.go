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
	"github.com/coreos/dbtester/pkg/workload"
)

// client sends the number in a request key over one connection.
type client struct {
	conn  net.Conn
	frame [8]byte
}

var _ database.Client = (*client)(nil)

// errReply is the error for an answer to another request than the one sent.
var errReply = errors.New("the reply must have the number of the request")

func (c *client) Put(ctx context.Context, key, _ []byte) error {
	number, err := strconv.ParseUint(string(key), 10, 64)
	if err != nil {
		return database.NotApplied(database.ClassOther, fmt.Errorf("key must be a number: %w", err))
	}
	deadline, _ := ctx.Deadline() // the zero time without one
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

// Get implements [database.Client]; the check only writes.
func (c *client) Get(ctx context.Context, key []byte, _ workload.ReadMode) ([]byte, error) {
	return nil, c.Put(ctx, key, nil)
}

func (c *client) Close() error { return c.conn.Close() }

// dial opens a connection for each client.
func dial(ctx context.Context, address string, n int) ([]database.Client, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	var clients []database.Client
	for range n {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("dial the server: %w", err), context.Cause(ctx), database.CloseAll(clients))
		}
		clients = append(clients, &client{conn: conn})
	}
	return clients, nil
}

// null is a client that answers at once, without a server.
type null struct{}

func (null) Put(context.Context, []byte, []byte) error { return nil }

func (null) Get(context.Context, []byte, workload.ReadMode) ([]byte, error) { return nil, nil }

func (null) Close() error { return nil }
