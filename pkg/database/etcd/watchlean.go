package etcd

import (
	"bytes"
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/pkg/database"
	streams "github.com/coreos/dbtester/pkg/database/etcd/stream"
)

// openLean opens a stream without grpc-go, on its own connection.
func (w *watches) openLean(ctx context.Context, t database.Target) error {
	addresses, err := t.Preferred()
	if err != nil {
		return err
	}
	config, err := t.TLS.Config()
	if err != nil {
		return err
	}
	conn, err := streams.Dial(ctx, streams.Config{Address: addresses[0], TLS: config})
	if err != nil {
		return err
	}
	r := &leanWatch{to: w}
	s, err := conn.Open(pb.Watch_Watch_FullMethodName, r.receive, w.ended)
	if err != nil {
		conn.Close()
		return err
	}
	w.send = func(r *pb.WatchRequest) error {
		message, err := proto.Marshal(r)
		if err != nil {
			return err
		}
		return s.Send(message)
	}
	w.stop = conn.Close
	return nil
}

// leanWatch receives the messages of a stream.
type leanWatch struct {
	to     *watches
	events []database.WatchEvent // reused memory
}

// receive handles a message. Messages with events are parsed in place; others are rare.
func (l *leanWatch) receive(at time.Time, message []byte) error {
	watch, events, err := appendEvents(l.events[:0], message, l.to.prefix)
	l.events = events
	switch {
	case err != nil:
		return err
	case len(events) > 0:
		for i := range events {
			events[i].Watcher = int32(watch - 1)
		}
		if events = l.to.fresh(watch, events); len(events) == 0 {
			return nil
		}
		l.to.to.Receive(at, events)
		l.to.held.Wait() // shorter than the connection's wait for the answer to a ping
		return nil
	}
	var resp pb.WatchResponse
	if err := proto.Unmarshal(message, &resp); err != nil {
		return err
	}
	return l.to.told(&resp)
}

// Numbers of fields.
const (
	responseWatch  = 2
	responseEvents = 11
	eventPair      = 2
	pairKey        = 1
	pairModified   = 3
	pairValue      = 5
)

// appendEvents appends the events in a message of a watch, with their keys below a prefix. The
// events borrow the message's bytes.
func appendEvents(events []database.WatchEvent, message, prefix []byte) (watch int64, _ []database.WatchEvent, err error) {
	err = fields(message, func(number protowire.Number, text []byte, n uint64) error {
		switch number {
		case responseWatch:
			watch = int64(n)
		case responseEvents:
			e := database.WatchEvent{}
			err := fields(text, func(number protowire.Number, text []byte, _ uint64) error {
				if number == eventPair {
					return readPair(text, &e)
				}
				return nil
			})
			if err != nil {
				return err
			}
			if key, ours := bytes.CutPrefix(e.Key, prefix); ours {
				e.Key = key
				events = append(events, e)
			}
		}
		return nil
	})
	return watch, events, err
}

// readPair reads a key with its value and revision.
func readPair(pair []byte, e *database.WatchEvent) error {
	return fields(pair, func(number protowire.Number, text []byte, n uint64) error {
		switch number {
		case pairKey:
			e.Key = text
		case pairModified:
			e.Version = int64(n)
		case pairValue:
			e.Value = text
		}
		return nil
	})
}
