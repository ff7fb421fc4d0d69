package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/tools/experiment"
)

// raw checks that a thousand watchers hear of the changes that another watcher implementation sees.
func raw() experiment.Trial {
	const watching, writes = 1000, 1000
	second := &rawWatcher{}
	return experiment.Trial{
		Name: "zookeeper-events", Title: "ZooKeeper, three members: 1,000 persistent watches of all keys and 1,000 writes",
		Text: hosts + fmt.Sprintf("load: {operation: update, keys: 100, rate: 50, requests: %d, clients: 5, key_size: 32, value_size: 64, timeout: 10s}\nwatch: {watchers: %d, connections: 50}\ndatabases: {zookeeper: {%s, options: {java_xms: 512M, java_xmx: 512M}}}\n", writes, watching, experiment.ZooKeeper),
		Beside: func(ctx context.Context, _ *os.Process, dir string) {
			if experiment.Await(ctx, dir, "ready") {
				second.err = second.watch(ctx, "127.0.17.2:2181")
			}
		},
		Judge: func(manifest string) ([]experiment.Finding, error) {
			o, err := read(manifest)
			if err != nil {
				return nil, err
			}
			// The member ends the connection when it stops, which is an error after all changes.
			if second.err != nil && second.changes < o.Counts.Writes {
				return nil, fmt.Errorf("the second watcher, after %d changes: %w", second.changes, second.err)
			}
			return []experiment.Finding{
				experiment.Exactly("acknowledged writes", o.Counts.Writes, writes),
				experiment.Exactly("deliveries", o.Counts.Delivered, o.Counts.Writes*watching),
				experiment.Exactly("lost, again, after newer ones, not come or not judged", o.wrong(), 0),
				experiment.Exactly("changes of keys that the second watcher saw", second.changes, o.Counts.Writes),
				experiment.Exactly("of them not after the transaction before", second.disorder, 0),
			}, nil
		},
	}
}

// rawWatcher counts data changes by a persistent recursive watch on all znodes, over the client
// protocol: lengths and numbers of four and eight bytes, the high byte first.
type rawWatcher struct {
	changes, disorder, newest int64
	err                       error
}

// Numbers in the protocol.
const (
	pingRequest, watchRequest = -2, 1
	opPing, opAddWatch        = 11, 106
	notification              = -1
	recursive                 = 1 // persistent
	dataChanged               = 3

	sessionTimeout = 10 * time.Second
)

// watch watches through a member until ctx or the connection ends.
func (w *rawWatcher) watch(ctx context.Context, address string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	// A new session: version, last transaction, timeout, id and an empty password.
	hello := binary.BigEndian.AppendUint32(nil, 0)
	hello = binary.BigEndian.AppendUint64(hello, 0)
	hello = binary.BigEndian.AppendUint32(hello, uint32(sessionTimeout.Milliseconds()))
	hello = binary.BigEndian.AppendUint64(hello, 0)
	hello = binary.BigEndian.AppendUint32(hello, 16)
	hello = append(hello, make([]byte, 16)...)
	if err := send(conn, hello); err != nil {
		return err
	}
	if _, err := receive(conn); err != nil {
		return err
	}
	add := request(watchRequest, opAddWatch)
	add = append(binary.BigEndian.AppendUint32(add, 1), '/')
	add = binary.BigEndian.AppendUint32(add, recursive)
	if err := send(conn, add); err != nil {
		return err
	}
	pinging, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for ; pinging.Err() == nil; sleep.For(pinging, sessionTimeout/3) {
			if send(conn, request(pingRequest, opPing)) != nil {
				return // the reader has the error
			}
		}
	}()
	for {
		answer, err := receive(conn)
		if err != nil {
			return err
		}
		if err := w.take(answer); err != nil {
			return err
		}
	}
}

// take handles an answer: its number, transaction and error, and the content in a notification.
func (w *rawWatcher) take(answer []byte) error {
	const head, event = 4 + 8 + 4, 4 + 4 + 4
	if len(answer) < head {
		return fmt.Errorf("an answer has %d bytes", len(answer))
	}
	number, transaction := int32(binary.BigEndian.Uint32(answer)), int64(binary.BigEndian.Uint64(answer[4:]))
	if code := int32(binary.BigEndian.Uint32(answer[12:])); code != 0 {
		return fmt.Errorf("the answer to request %d is the error %d", number, code)
	}
	if number != notification {
		return nil
	}
	body := answer[head:]
	if len(body) < event || len(body) < event+int(binary.BigEndian.Uint32(body[8:])) {
		return fmt.Errorf("an event has %d bytes", len(body))
	}
	path := string(body[event : event+int(binary.BigEndian.Uint32(body[8:]))])
	if binary.BigEndian.Uint32(body) != dataChanged || strings.HasPrefix(path, "/zookeeper/") {
		return nil
	}
	w.changes++
	if transaction <= w.newest {
		w.disorder++
	}
	w.newest = transaction
	return nil
}

// request encodes the header: a number and an operation.
func request(number int32, operation uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(number)), operation)
}

// send sends a message after its length.
func send(to io.Writer, message []byte) error {
	_, err := to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	return err
}

// receive reads a message.
func receive(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	const most = 1 << 20
	n := binary.BigEndian.Uint32(size[:])
	if n > most {
		return nil, fmt.Errorf("a message has %d bytes", n)
	}
	var message bytes.Buffer
	_, err := io.CopyN(&message, from, int64(n))
	return message.Bytes(), err
}
