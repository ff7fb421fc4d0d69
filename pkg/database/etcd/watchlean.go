package etcd

import (
	"bytes"
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
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
	r := &leanWatch{to: w}
	conn, err := streams.Dial(ctx, streams.Config{Address: addresses[0], TLS: config, Read: r.report, Pause: r.pause})
	if err != nil {
		return err
	}
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
	to       *watches
	events   []database.WatchEvent // from the messages in one read
	at       time.Time
	reported bool // since the last read
}

// mostEvents bounds the events reported at once, and so the memory for them.
const mostEvents = 64

// receive handles a message. Messages with events are parsed in place; others are rare.
func (l *leanWatch) receive(at time.Time, message []byte) error {
	before := len(l.events)
	watch, events, err := appendEvents(l.events, message, l.to.prefix)
	if err != nil {
		return err
	}
	if came := events[before:]; len(came) > 0 {
		for i := range came {
			came[i].Watcher = int32(watch - 1)
		}
		l.events, l.at = events[:before+len(l.to.fresh(watch, came))], at
		if len(l.events) >= mostEvents {
			l.report()
		}
		return nil
	}
	l.report()
	var resp pb.WatchResponse
	if err := proto.Unmarshal(message, &resp); err != nil {
		return err
	}
	return l.to.told(&resp)
}

// report reports the events not yet reported.
func (l *leanWatch) report() {
	if len(l.events) == 0 {
		return
	}
	l.to.to.Receive(l.at, l.events)
	l.events, l.reported = l.events[:0], true
}

// pause returns until when a connection that is slow on purpose reads nothing after a report, nil
// without a pause. A pause is shorter than the connection waits for the answer to a ping.
func (l *leanWatch) pause() <-chan struct{} {
	if !l.reported {
		return nil
	}
	l.reported = false
	return l.to.held.Until()
}

// Field numbers.
const (
	responseWatch  = 2
	responseEvents = 11
	eventPair      = 2
	pairKey        = 1
	pairModified   = 3
	pairValue      = 5
)

// appendEvents appends the events in a message, with their keys below a prefix. The events borrow
// the message bytes.
func appendEvents(events []database.WatchEvent, message, prefix []byte) (watch int64, _ []database.WatchEvent, err error) {
	for len(message) > 0 {
		var f field
		if message, err = f.take(message); err != nil {
			return 0, events, err
		}
		switch f.number {
		case responseWatch:
			watch = int64(f.is)
		case responseEvents:
			e, err := readEvent(f.text)
			if err != nil {
				return 0, events, err
			}
			if key, ours := bytes.CutPrefix(e.Key, prefix); ours {
				e.Key = key
				events = append(events, e)
			}
		}
	}
	return watch, events, nil
}

// readEvent reads the key, value and revision of an event.
func readEvent(event []byte) (e database.WatchEvent, err error) {
	for len(event) > 0 {
		var f field
		if event, err = f.take(event); err != nil {
			return e, err
		}
		if f.number != eventPair {
			continue
		}
		for pair := f.text; len(pair) > 0; {
			if pair, err = f.take(pair); err != nil {
				return e, err
			}
			switch f.number {
			case pairKey:
				e.Key = f.text
			case pairModified:
				e.Version = int64(f.is)
			case pairValue:
				e.Value = f.text
			}
		}
	}
	return e, nil
}
