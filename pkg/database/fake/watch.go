package fake

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/deliver"
)

var (
	_ database.WatchDialer  = (*Options)(nil)
	_ database.Watches      = (*watches)(nil)
	_ database.Holder       = (*watches)(nil)
	_ database.WatchResumer = (*watches)(nil)
)

// watchFacts returns the facts about the only kind of watch.
func watchFacts() []database.WatchFacts {
	return []database.WatchFacts{{
		Kind: database.WatchStream, How: "frames of the leader, over a connection that many watchers share",
		Ordered: true, Values: true, Ranges: true,
	}}
}

// watcherSize is the size in bytes of a watcher number in frames, big endian. The number precedes
// the version and the key.
const watcherSize = 4

// lengthSize is the size in bytes of the length of the first key in a range, big endian. The length
// follows the watcher number, and the end of the range follows the first key.
const lengthSize = 4

// resumeSize is the size in bytes of the head of a watch that continues from another connection:
// its opcode, and the version after which it continues, big endian.
const resumeSize = 1 + versionSize

// watches is a connection to the leader.
type watches struct {
	conn   net.Conn
	prefix string
	to     database.Receiver
	held   database.Hold

	mu      sync.Mutex // for writes and the following fields
	w       *bufio.Writer
	answers map[string]chan int64 // by the first field of the answer
	last    uint64                // mark
	closed  bool
	over    chan struct{} // closed when the reader has ended
}

// DialWatches connects to the leader.
func (o *Options) DialWatches(ctx context.Context, t database.Target, _ database.WatchKind, to database.Receiver) (database.Watches, error) {
	leader, err := o.Leader(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("dial for watches: %w", err)
	}
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", t.Endpoints[leader])
	if err != nil {
		return nil, fmt.Errorf("dial for watches: %w", err)
	}
	w := &watches{conn: conn, prefix: t.KeyPrefix(), to: to, w: bufio.NewWriter(conn), answers: map[string]chan int64{}, over: make(chan struct{})}
	go w.read()
	return w, nil
}

// Add begins to watch.
func (w *watches) Add(ctx context.Context, watcher int32, r database.WatchRange) (after int64, err error) {
	op, field, value := w.request(watcher, r)
	return w.ask(ctx, op, field, value)
}

// Resume continues to watch.
func (w *watches) Resume(ctx context.Context, watcher int32, r database.WatchRange, after int64) error {
	op, field, value := w.request(watcher, r)
	past := binary.BigEndian.AppendUint64([]byte{byte(op)}, uint64(after))
	_, err := w.ask(ctx, opResume, append(past, field...), value)
	return err
}

// request returns the fields in a request for a watch.
func (w *watches) request(watcher int32, r database.WatchRange) (op opcode, field, value []byte) {
	id := binary.BigEndian.AppendUint32(nil, uint32(watcher))
	key := append([]byte(w.prefix), r.Key...)
	switch {
	case r.Key == nil:
		return opWatchAll, id, key
	case r.End == nil:
		return opWatch, id, key
	}
	id = binary.BigEndian.AppendUint32(id, uint32(len(key)))
	return opWatchPart, id, append(append(key, w.prefix...), r.End...)
}

// Barrier sends a mark, which comes back after all earlier events.
func (w *watches) Barrier(ctx context.Context) error {
	w.mu.Lock()
	w.last++
	mark := binary.BigEndian.AppendUint64(nil, w.last)
	w.mu.Unlock()
	_, err := w.ask(ctx, opMark, mark, nil)
	return err
}

// ask sends a request and waits for the frame with the same first field.
func (w *watches) ask(ctx context.Context, op opcode, field, value []byte) (int64, error) {
	answer := make(chan int64, 1)
	w.mu.Lock()
	w.answers[string(field)] = answer
	err := writeFrame(w.w, byte(op), field, value)
	w.mu.Unlock()
	if err != nil {
		return 0, fmt.Errorf("ask for a watch: %w", err)
	}
	select {
	case is := <-answer:
		return is, nil
	case <-w.over:
		return 0, errors.New("the connection of watches ended")
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// read reads frames until the connection ends.
func (w *watches) read() {
	defer close(w.over)
	r := bufio.NewReaderSize(w.conn, 64<<10)
	var events []database.WatchEvent
	for {
		kind, field, value, err := readFrame(r)
		at := time.Now()
		for err == nil {
			switch opcode(kind) {
			case opEvent, opGap:
				if e, ok := w.event(opcode(kind), field, value); ok {
					events = append(events, e)
				}
			default:
				events = w.report(at, events) // a barrier ends after all events before its mark
				w.answered(field, value)
			}
			if !arrived(r) { // later bytes have their own time
				break
			}
			kind, field, value, err = readFrame(r)
		}
		events = w.report(at, events)
		if err != nil {
			w.mu.Lock()
			closed := w.closed
			w.mu.Unlock()
			if !closed {
				w.to.Broken(noEOF(err))
			}
			return
		}
	}
}

// report reports events, and returns their memory.
func (w *watches) report(at time.Time, events []database.WatchEvent) []database.WatchEvent {
	if len(events) > 0 {
		w.to.Receive(at, events)
		clear(events)
		w.held.Wait()
	}
	return events[:0]
}

// answered passes an answer to its waiter.
func (w *watches) answered(field, value []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if answer := w.answers[string(field)]; answer != nil && len(value) == versionSize {
		answer <- int64(binary.BigEndian.Uint64(value))
		delete(w.answers, string(field))
	}
}

// event reads the frame of an event or a gap.
func (w *watches) event(op opcode, field, value []byte) (e database.WatchEvent, ok bool) {
	if len(field) < watcherSize+versionSize {
		return e, false
	}
	e = database.WatchEvent{Watcher: int32(binary.BigEndian.Uint32(field)), Version: int64(binary.BigEndian.Uint64(field[watcherSize:]))}
	if op == opGap {
		e.Gap = true
		return e, true
	}
	key, ours := strings.CutPrefix(string(field[watcherSize+versionSize:]), w.prefix)
	e.Key, e.Value = []byte(key), value
	return e, ours
}

// Hold makes the connection stop reading until the channel is closed.
func (w *watches) Hold(until <-chan struct{}) { w.held.Set(until) }

// Close closes the connection.
func (w *watches) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	err := w.conn.Close()
	<-w.over
	return err
}

// watch serves the watches of a connection whose first request was read.
func (s *server) watch(ctx context.Context, r io.Reader, w *bufio.Writer, op opcode, field, value []byte) {
	ctx, cancel := context.WithCancel(ctx)
	queue := s.store.hub.Queue()
	var mu sync.Mutex // of w
	write := func(op opcode, field, value []byte) error {
		mu.Lock()
		defer mu.Unlock()
		return writeFrame(w, byte(op), field, value)
	}
	var running sync.WaitGroup
	running.Go(func() {
		queue.Run(ctx, func(list []deliver.Delivery) error {
			for _, d := range list {
				if err := writeDelivery(write, d); err != nil {
					return err
				}
			}
			return nil
		})
	})
	defer running.Wait()
	defer cancel()
	defer s.store.hub.Remove(queue)
	frames, kind, err := bufio.NewReader(r), byte(op), error(nil)
	for err == nil {
		switch op := opcode(kind); {
		case op == opMark:
			queue.Mark(field, time.Now())
		case op.watches():
			after := int64(-1)
			watch := field
			if op == opResume {
				if len(field) < resumeSize {
					return
				}
				op, after, watch = opcode(field[0]), int64(binary.BigEndian.Uint64(field[1:])), field[resumeSize:]
			}
			id, keys, ok := watched(op, watch, value)
			switch {
			case !ok:
				return
			case after < 0:
				after = queue.Watch(id, keys)
			default:
				queue.Resume(id, keys, after, time.Now())
			}
			err = write(op, field, binary.BigEndian.AppendUint64(nil, uint64(after)))
		default:
			return
		}
		if err == nil {
			kind, field, value, err = readFrame(frames)
		}
	}
}

// watched returns the watcher and the keys in a request for a watch; ok is false if the request is
// malformed.
func watched(op opcode, field, value []byte) (id int32, keys deliver.Keys, ok bool) {
	size := watcherSize
	if op == opWatchPart {
		size += lengthSize
	}
	if len(field) != size {
		return 0, keys, false
	}
	id = int32(binary.BigEndian.Uint32(field))
	if op != opWatchPart {
		return id, deliver.Keys{First: value, Prefix: op == opWatchAll}, true
	}
	n := binary.BigEndian.Uint32(field[watcherSize:])
	if uint64(n) > uint64(len(value)) {
		return 0, keys, false
	}
	return id, deliver.Keys{First: value[:n], End: value[n:]}, true
}

// writeDelivery writes a frame.
func writeDelivery(write func(opcode, []byte, []byte) error, d deliver.Delivery) error {
	if d.Mark != nil {
		return write(opMark, d.Mark, make([]byte, versionSize))
	}
	field := binary.BigEndian.AppendUint32(nil, uint32(d.Watcher))
	field = binary.BigEndian.AppendUint64(field, uint64(d.Version))
	if d.Gap {
		return write(opGap, field, nil)
	}
	return write(opEvent, append(field, d.Key...), d.Value)
}
